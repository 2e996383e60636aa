"""Settings that an administrator changed while the broker ran: checked, saved, then in force.

All of a request's keys or none: each must be on the allow-list (`options.LiveOptions`, which has no path and
no address), its value of the right type and range. They are kept in config/broker.runtime.properties below
the store, never in a file that a request could name, and win over broker.conf at the next start. A change
that could not be written is not in force either. Loop thread only; `state` reads and writes the file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from engine.broker.settings.options import OPTION_KEYS, LiveOptions, apply_change, plan_change
from engine.broker.settings.profiles import FORCED_DELETION_KEY, FORCED_DELETION_REFUSAL
from engine.daemon.options import option_text
from engine.errors import BadInput, BadRequest, NotPermitted, Refused
from engine.protocol.bodies.basics import DataVersion
from engine.protocol.bodies.config_text import format_config, parse_config
from engine.protocol.codes import ResponseCode

CHANGES_FILE = "broker.runtime.properties"
MAX_TEXT_BYTES = 64 * 1024

_HEADING = (
    "# Settings changed while the broker ran; they win over broker.conf. Edit only while it is stopped.\n"
)
_FORCED_DELETION = OPTION_KEYS[FORCED_DELETION_KEY].attribute
_NAMES = {key.attribute: name for name, key in OPTION_KEYS.items() if key.is_live}


@dataclass(eq=False, repr=False)
class ConfigChanges:
    """`plan` and `stage` a request; once the file holds them, `saved` puts them in force."""

    live: LiveOptions
    protects_unexpired: bool = False
    configures_deletion: bool = False
    _kept: dict[str, str] = field(default_factory=dict, init=False)
    _staged: dict[str, str] = field(default_factory=dict, init=False)
    version: DataVersion = field(default_factory=DataVersion, init=False)

    def __post_init__(self) -> None:
        self.on_change: Callable[[frozenset[str]], None] = lambda changed: None
        """Called with the attributes that are different; set once the broker's parts exist."""

    def plan(self, text: bytes) -> dict[str, str]:
        """The settings that a request names, all checked; raises before anything is changed."""
        if len(text) > MAX_TEXT_BYTES:
            raise BadRequest(f"the text has {len(text)} bytes, {MAX_TEXT_BYTES} are allowed")
        try:
            decoded = text.decode("utf-8")
        except UnicodeDecodeError:
            raise BadRequest("the text is not UTF-8") from None
        if not parse_config(decoded):
            raise Refused("no setting is given", code=ResponseCode.INVALID_PARAMETER)
        try:
            changes = plan_change(self.live, decoded)
        except BadInput as error:
            raise Refused(error.text, code=ResponseCode.INVALID_PARAMETER) from None
        if self.protects_unexpired and _FORCED_DELETION in changes:
            raise NotPermitted(FORCED_DELETION_REFUSAL)
        return {_NAMES[attribute]: option_text(value) for attribute, value in changes.items()}

    def stage(self, settings: Mapping[str, str], now_ms: int) -> None:
        self._staged.update(settings)
        self.version = self.version.next_version(now_ms)

    def snapshot(self) -> dict[str, str]:
        """The settings that the file must hold."""
        return {**self._kept, **self._staged}

    def saved(self, snapshot: Mapping[str, str]) -> None:
        self._kept = dict(snapshot)
        self._staged = {name: value for name, value in self._staged.items() if snapshot.get(name) != value}
        self._apply(snapshot)

    def failed(self) -> None:
        """The staged changes do not take effect; their requests are answered with the error."""
        self._staged.clear()

    def restore(self, text: str) -> list[str]:
        """At start: apply the file's settings. Returns why some are not allowed and not applied."""
        refused: list[str] = []
        for name, value in parse_config(text).items():
            try:
                changes = plan_change(self.live, format_config({name: value}))
            except (BadInput, NotPermitted) as error:
                refused.append(error.text)
                continue
            if self.protects_unexpired and changes.get(_FORCED_DELETION):
                # Kept by an earlier release, or before the broker was protected; a kept false is obeyed.
                refused.append(FORCED_DELETION_REFUSAL)
            else:
                self._kept[name] = value
        self._apply(self._kept)
        return refused

    def keep_unexpired(self) -> bool:
        """No forced deletion from now on, unless broker.conf or an administrator at run time has set it.
        Returns whether unexpired messages may still be deleted."""
        is_set = self.configures_deletion or FORCED_DELETION_KEY in self.snapshot()
        if self.live.clean_file_forcibly_enable and not is_set:
            apply_change(self.live, {_FORCED_DELETION: False})
            self.on_change(frozenset({_FORCED_DELETION}))
        return self.live.clean_file_forcibly_enable

    def _apply(self, settings: Mapping[str, str]) -> None:
        changes = plan_change(self.live, format_config(settings))
        apply_change(self.live, changes)
        if changes:
            self.on_change(frozenset(changes))


def encode_changes(snapshot: Mapping[str, str]) -> bytes:
    return (_HEADING + format_config(snapshot)).encode("utf-8")
