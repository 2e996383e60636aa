"""The files behind administrators' changes, below the store's config/: request modes and run-time settings.

Read once at start, written by `persistence` whenever they change. A file that cannot be read, and whose .bak
cannot either, refuses the start: going on would silently undo what an administrator decided.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from engine.broker.clients.queue_assignment import REQUEST_MODES_FILE, RequestModes
from engine.broker.settings.config_changes import CHANGES_FILE, ConfigChanges, encode_changes
from engine.broker.settings.options import BrokerOptions
from engine.broker.state.state_file_io import StateFile
from engine.durable_file import read_durable
from engine.errors import BadInput, EngineError
from engine.protocol import fastjson
from engine.protocol.bodies.groups import MessageRequestModeSerializeWrapper

log = logging.getLogger(__name__)

_T = TypeVar("_T")


def restored_changes(directory: Path, options: BrokerOptions) -> ConfigChanges:
    """Settings that administrators changed at run time win over broker.conf, and are named in the log."""
    changes = ConfigChanges(
        options.live, protects_unexpired=options.protects_unexpired, says_deletion=options.says_deletion
    )
    text = load_file(directory / CHANGES_FILE, lambda data: data.decode("utf-8")) or ""
    for refusal in changes.restore(text):
        log.warning("%s: %s", CHANGES_FILE, refusal)
    for name, value in changes.snapshot().items():
        log.warning("%s=%s comes from %s, not from broker.conf", name, value, CHANGES_FILE)
    return changes


def admin_files(directory: Path, modes: RequestModes, changes: ConfigChanges) -> dict[str, StateFile]:
    return {
        REQUEST_MODES_FILE: StateFile(
            directory / REQUEST_MODES_FILE, modes.snapshot, _encode_modes, _ignore, _nothing
        ),
        CHANGES_FILE: StateFile(
            directory / CHANGES_FILE, changes.snapshot, encode_changes, changes.saved, changes.failed
        ),
    }


def load_file(path: Path, decode: Callable[[bytes], _T]) -> _T | None:
    def parse(data: bytes) -> _T:
        try:
            return decode(data)
        except EngineError as error:
            raise ValueError(error.text) from None

    content, damage = read_durable(path, parse)
    if content is None and damage is not None:
        raise BadInput(f"{path}: {damage}; restore it, or move it and its .bak away to start without it")
    return content


def _encode_modes(modes: MessageRequestModeSerializeWrapper) -> bytes:
    return fastjson.dumps_pretty(modes.to_json())


def _ignore(snapshot: object) -> None:
    """Nothing waits for this file."""


def _nothing() -> None:
    """The table itself is the truth; the next change writes it again."""
