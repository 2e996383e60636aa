"""Every error the engine raises on purpose. Imports nothing.

Expected outcomes are results, not exceptions; an exception here is a broken promise or a refusal.
Each carries a response code (a number of `engine.protocol.codes`, given by whoever raises, because this
module sits below it), a text a person can act on, and data fields for logs. They become replies at one
border only (`engine.net.serving`).
"""

from __future__ import annotations

_SYSTEM_ERROR = 1
_ILLEGAL_MESSAGE = 13
_NOT_PERMITTED = 16


class EngineError(Exception):
    """Root of the tree: a machine code, a human text, data fields."""

    default_code = _SYSTEM_ERROR

    def __init__(self, text: str, *, code: int | None = None, **data: object) -> None:
        super().__init__(text)
        self.text = text
        self.code = self.default_code if code is None else int(code)
        self.data = data


class ProtocolError(EngineError):
    """The peer's bytes cannot be understood: the connection is closed without a reply."""


class Refused(EngineError):
    """A request is understood and declined before it changed anything; the code says why."""


class BadRequest(Refused):
    """A field is missing, of the wrong type or out of range."""


class BadInput(EngineError):
    """Our own caller (application, operator, configuration file) gave something unusable."""


class NotFound(Refused):
    """What was asked for does not exist."""


class NotPermitted(Refused):
    """The peer may not do this."""

    default_code = _NOT_PERMITTED


class StoreError(EngineError):
    """Root of what can be wrong with files."""


class CorruptRecord(StoreError):
    """A record's bytes contradict themselves (size, magic, CRC, lengths)."""

    default_code = _ILLEGAL_MESSAGE


class UnsupportedStore(StoreError):
    """The folder was written by an engine or option that we do not open."""


class StoreLocked(StoreError):
    """Another process holds this store."""


class DiskFull(StoreError):
    """No room for the next segment: writes are refused, reads go on."""


class StoreFenced(StoreError):
    """A sync failed, so nothing later may be acknowledged."""


class PeerError(EngineError):
    """Client side: the peer answered with a code that is not success."""


class PeerUnreachable(EngineError):
    """Client side: no connection, connection lost, or no address known."""


class PeerTimeout(EngineError):
    """Client side: no answer in time; the request may or may not have taken effect."""
