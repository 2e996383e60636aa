"""TLS as values: our certificate, the authorities that we trust, and the contexts made of them. No sockets.

TLS 1.2 and later; no renegotiation (CVE-2011-1473), no compression. The files may be replaced while a process
runs: `refresh` looks at them, handshakes that begin later use the new ones, connections that exist stay.
Files that cannot be used leave the old ones in force, with one warning for each change of them. Anything else
that listens may take the same `ServerTls`. Passwords are in no `repr`.

A certificate that ends in 30, 7 or 1 days, or has ended, is a warning: `current_notice` decides, and
`ExpiryWatch` logs it once for each threshold, day and certificate. A new certificate is judged at once.
"""

from __future__ import annotations

import logging
import os
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum
from typing import Protocol

from engine.errors import BadInput

log = logging.getLogger(__name__)

DAY_MS = 86_400_000
THRESHOLD_DAYS = (0, 1, 7, 30)
NOT_AFTER_METRIC = "signalbox_tls_certificate_not_after_seconds"
NOT_AFTER_HELP = "When the certificate of the TLS port ends, in seconds since 1970"


@dataclass(frozen=True, slots=True)
class Notice:
    """`threshold_days` is 0 when the certificate has ended. Two notices that are equal are logged once."""

    not_after_ms: int
    threshold_days: int
    day: int

    @property
    def text(self) -> str:
        ends = datetime.fromtimestamp(self.not_after_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M UTC")
        if self.threshold_days == 0:
            return (
                f"the TLS certificate expired on {ends}: clients that verify it refuse to connect; replace it"
            )
        days = "1 day" if self.threshold_days == 1 else f"{self.threshold_days} days"
        return f"the TLS certificate expires on {ends}, in less than {days}: replace it before then"


def current_notice(not_after_ms: int, now_ms: int) -> Notice | None:
    """What there is to say about a certificate now; None: it is good for long enough."""
    left_ms = not_after_ms - now_ms
    for days in THRESHOLD_DAYS:
        if left_ms <= days * DAY_MS:
            return Notice(not_after_ms, days, now_ms // DAY_MS)
    return None


def read_not_after_ms(path: str) -> int | None:
    """The end of the first certificate of a PEM file, which is the server's own; None: it cannot be told."""
    from cryptography import x509

    try:
        with open(path, "rb") as file:
            chain = x509.load_pem_x509_certificates(file.read())
    except (OSError, ValueError):
        return None
    return int(chain[0].not_valid_after_utc.timestamp() * 1000)


class ExpiryWatch:
    def __init__(self) -> None:
        self._logged: Notice | None = None

    def look(self, not_after_ms: int | None, now_ms: int) -> None:
        notice = None if not_after_ms is None else current_notice(not_after_ms, now_ms)
        if notice is None or notice == self._logged:
            return
        self._logged = notice
        log.warning("%s", notice.text)


Stamp = tuple[tuple[int, int, int], ...]


class TlsMode(Enum):
    """What a server does with a peer that speaks, or does not speak, TLS (`tls.server.mode`)."""

    DISABLED = "disabled"
    PERMISSIVE = "permissive"
    ENFORCING = "enforcing"


class ClientAuth(Enum):
    """Whether a server asks its peers for a certificate (`tls.server.need.client.auth`)."""

    NONE = "none"
    OPTIONAL = "optional"
    REQUIRE = "require"


_VERIFY = {
    ClientAuth.NONE: ssl.CERT_NONE,
    ClientAuth.OPTIONAL: ssl.CERT_OPTIONAL,
    ClientAuth.REQUIRE: ssl.CERT_REQUIRED,
}


@dataclass(frozen=True, slots=True)
class ServerFiles:
    """A server's certificate chain and key (PEM), and the authorities that vouch for its clients."""

    cert_path: str
    key_path: str
    key_password: str = field(default="", repr=False)
    trust_path: str = ""
    client_auth: ClientAuth = ClientAuth.NONE

    def context(self) -> ssl.SSLContext:
        context = _hardened(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER))
        _load_identity(context, self.cert_path, self.key_path, self.key_password)
        if self.client_auth is not ClientAuth.NONE:
            if not self.trust_path:
                raise BadInput("client certificates are asked for, but tls.server.trustCertPath is not set")
            _load_trust(context, self.trust_path)
        context.verify_mode = _VERIFY[self.client_auth]
        return context

    def stamp(self) -> Stamp:
        return _stamp(self.cert_path, self.key_path, self.trust_path)


@dataclass(frozen=True, slots=True)
class TlsOptions:
    """How we talk to servers over TLS. The server's chain and name are verified unless `verify` is False.

    `ca_file` holds the authorities to trust (default: the system's). `cert_file` and `key_file` are our own
    certificate, for servers that ask. Brokers are dialled by the address that they advertise, which is
    numeric: their certificates name it, or `server_name` says which name to expect instead.
    """

    ca_file: str | None = None
    cert_file: str | None = None
    key_file: str | None = None
    key_password: str = field(default="", repr=False)
    server_name: str | None = None
    verify: bool = True

    def context(self) -> ssl.SSLContext:
        context = _hardened(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))
        if not self.verify:
            log.warning("TLS servers are NOT verified: anyone on the way can read and change everything")
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        elif self.ca_file:
            _load_trust(context, self.ca_file)
        else:
            context.load_default_certs()
        if self.cert_file or self.key_file:
            _load_identity(context, self.cert_file or "", self.key_file or "", self.key_password)
        return context

    def stamp(self) -> Stamp:
        return _stamp(self.ca_file, self.cert_file, self.key_file)


class ContextFiles(Protocol):
    """Files that a context is made of."""

    def context(self) -> ssl.SSLContext: ...

    def stamp(self) -> Stamp:
        """Changes when one of the files does."""


class RenewedContext:
    """The context of files as they are now, or as they were when they last could be used."""

    def __init__(self, files: ContextFiles) -> None:
        self._files = files
        self._stamp = files.stamp()
        self.context = files.context()

    def refresh(self) -> bool:
        """Whether other files are in force now."""
        stamp = self._files.stamp()
        if stamp == self._stamp:
            return False
        self._stamp = stamp
        try:
            self.context = self._files.context()
        except BadInput as error:
            log.warning("the new TLS files cannot be used, the old certificate stays: %s", error.text)
            return False
        log.info("TLS files have changed and were loaded again")
        return True


def _wall_clock_ms() -> int:
    return int(time.time() * 1000)


class ServerTls:
    """A server's mode and the context for the next handshake; None: it has no certificate."""

    def __init__(
        self,
        mode: TlsMode = TlsMode.DISABLED,
        files: ServerFiles | None = None,
        context: ssl.SSLContext | None = None,
        now_ms: Callable[[], int] = _wall_clock_ms,
    ) -> None:
        self.mode = mode
        self._files = files
        self._now_ms = now_ms
        self._expiry = ExpiryWatch()
        self._renewed = RenewedContext(files) if files and mode is not TlsMode.DISABLED else None
        self._fixed = context
        self.not_after_ms = self._read_not_after_ms()
        """When the certificate in use ends; None: there is none, or it cannot be told."""
        if mode is TlsMode.ENFORCING and self.context is None:
            raise BadInput("tls.server.mode=enforcing needs tls.server.certPath and tls.server.keyPath")

    @property
    def context(self) -> ssl.SSLContext | None:
        return self._renewed.context if self._renewed is not None else self._fixed

    def refresh(self) -> None:
        if self._renewed is not None:
            if self._renewed.refresh():
                self.not_after_ms = self._read_not_after_ms()
            self._expiry.look(self.not_after_ms, self._now_ms())

    def _read_not_after_ms(self) -> int | None:
        return (
            None if self._renewed is None or self._files is None else read_not_after_ms(self._files.cert_path)
        )

    def context_for(self, first_byte: int) -> ssl.SSLContext | None:
        """What a peer gets that begins with this byte: a context for TLS, None for plain frames; BadInput:
        it is closed."""
        if first_byte != TLS_HANDSHAKE_BYTE:
            if self.mode is TlsMode.ENFORCING:
                raise BadInput("not TLS, which tls.server.mode=enforcing demands")
            return None
        if self.mode is TlsMode.DISABLED:
            raise BadInput("TLS, but tls.server.mode=disabled")
        if self.context is None:
            raise BadInput("TLS, but no certificate is configured (tls.server.certPath, tls.server.keyPath)")
        return self.context


TLS_HANDSHAKE_BYTE = 0x16


def _hardened(context: ssl.SSLContext) -> ssl.SSLContext:
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_COMPRESSION | ssl.OP_NO_RENEGOTIATION
    return context


def _load_identity(context: ssl.SSLContext, cert_path: str, key_path: str, password: str) -> None:
    _insist_readable(cert_path)
    _insist_readable(key_path)
    try:
        # Without a password of ours OpenSSL would ask for one at the terminal.
        context.load_cert_chain(cert_path, key_path, password)
    except ssl.SSLError as error:
        raise BadInput(f"{cert_path} and {key_path} cannot be used: {_reason(error)}") from None


def _load_trust(context: ssl.SSLContext, path: str) -> None:
    _insist_readable(path)
    try:
        context.load_verify_locations(path)
    except ssl.SSLError as error:
        raise BadInput(f"{path} holds no usable certificate: {_reason(error)}") from None


def _insist_readable(path: str) -> None:
    """OpenSSL's own message for a missing file does not name it."""
    try:
        with open(path, "rb"):
            return
    except OSError as error:
        raise BadInput(f"{path or 'a TLS file'} cannot be read: {error.strerror}") from None


def _stamp(*paths: str | None) -> Stamp:
    return tuple(_stamp_of(path) for path in paths if path)


def _stamp_of(path: str) -> tuple[int, int, int]:
    """A file that is not there has a stamp too."""
    try:
        status = os.stat(path)
    except OSError:
        return 0, 0, 0
    return status.st_mtime_ns, status.st_ino, status.st_size


def _reason(error: ssl.SSLError) -> str:
    return error.reason or str(error) or "the password is wrong, or the file is no PEM"
