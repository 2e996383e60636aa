"""Limits of auto-created topics and groups: in total, and per client address. Pure; loop thread only.

A send creates a topic, the first request of a consumer a group (`autoCreateTopicEnable`,
`autoCreateSubscriptionGroup`). The total limit counts all topics or groups of the broker, however they were
created, so a restart forgets nothing, and what an administrator creates is never refused. The limit per
address counts what it has created since the start and still exists; deleting frees room. An address is kept
only as long as something that it created exists, so this table is bounded by the total limit. IPv6 clients
are counted by /64: they can choose the remaining bits freely.

Topics that the broker creates for an existing group (retry topics and dead letters) are not limited: no
message may be lost because others have created too many topics.
"""

from __future__ import annotations

import ipaddress
import logging
from collections import Counter
from dataclasses import dataclass, field

from engine.broker.settings.options import LiveOptions
from engine.errors import Refused
from engine.protocol.codes import ResponseCode

log = logging.getLogger(__name__)


_SETTING = "signalboxMaxAutoCreated"


class AutoCreationRefused(Refused):
    """The limit of auto-created topics or groups is reached."""


@dataclass(eq=False, repr=False)
class AutoCreated:
    """Of one kind: `noun` is topic or group. Without `live` there is no limit."""

    noun: str
    code: ResponseCode
    live: LiveOptions | None = None
    _creators: dict[str, str] = field(default_factory=dict, init=False)
    _counts: Counter[str] = field(default_factory=Counter, init=False)
    _has_warned: bool = field(default=False, init=False)

    def check(self, name: str, host: str, present: int) -> None:
        """Refused above a limit. `present` exist already, not counting the broker's own."""
        if self.live is None:
            return
        option, setting = f"signalbox_max_auto_created_{self.noun}s", _SETTING + self.noun.title() + "s"
        limit, address_limit = getattr(self.live, option), getattr(self.live, f"{option}_per_address")
        if limit and present >= limit:
            self._refuse(name, f"this broker has {present} {self.noun}s", setting, limit)
        if address_limit and (count := self._counts.get(creator_of(host), 0)) >= address_limit:
            had = f"{creator_of(host)} has had {count} {self.noun}s created"
            self._refuse(name, had, f"{setting}PerAddress", address_limit)

    def _refuse(self, name: str, reason: str, setting: str, limit: int) -> None:
        text = (
            f"the {self.noun} {name:.300} is not auto-created: {reason}, and {setting} is {limit}; "
            f"an administrator can create it, or raise {setting}"
        )
        if not self._has_warned:  # once, so that many refusals do not fill the log
            self._has_warned = True
            log.warning("%s (further refusals are not logged)", text)
        raise AutoCreationRefused(text, code=self.code)

    def note(self, name: str, host: str) -> None:
        creator = creator_of(host)
        self._creators[name] = creator
        self._counts[creator] += 1

    def forget(self, name: str) -> None:
        """It was deleted."""
        creator = self._creators.pop(name, None)
        if creator is None:
            return
        self._has_warned = False
        self._counts[creator] -= 1
        if not self._counts[creator]:
            del self._counts[creator]


def creator_of(host: str) -> str:
    """The address that a client is counted by."""
    if ":" not in host:
        return host
    try:
        address = ipaddress.IPv6Address(host.partition("%")[0])
    except ValueError:
        return host
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.IPv6Network((int(address) >> 64 << 64, 64)))
