"""What replication needs to know of its broker: what to call when the role changes, and the group's rules."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class RoleHooks:
    """What the broker does when its role changes; each returns when it is done."""

    become_master: Callable[[int], Coroutine[Any, Any, None]]
    """Returns once writes are taken (the confirmed offset may hold it up) or another role was asked for."""
    become_slave: Callable[[str | None, int, int], Awaitable[None]]
    seek: Callable[[int], Awaitable[None]]
    cut_log: Callable[[int], Awaitable[None]]
    """Drop the log from this record boundary on."""
    keep_unexpired: Callable[[], bool]
    """The group has promised more than this master's settings do: delete nothing that has not expired, unless
    somebody has said otherwise here. Whether it may still be deleted."""


@dataclass(frozen=True, slots=True)
class GroupRules:
    min_in_sync: int
    catch_up_ms: int
