"""Becoming master after a master that is none of ours: RocketMQ's plain stream promises nothing. Pure.

A member that has only ever followed such a master has no epoch, no members and no in-sync set, so there is
nothing to elect by, and what may be missing can only be said. Therefore a person must say --unclean, and the
old master must be gone: it cannot be told that it was replaced.
"""

from __future__ import annotations

from dataclasses import replace

from engine.broker.failover.group_state import GroupState, InSyncSet

TAKEOVER_EPOCH = 2
"""Higher than that of a group that somebody founds meanwhile with the same name."""


def takeover_refusal(*, log_end: int, is_linked: bool) -> str:
    """Why it is out of the question; empty where it is not."""
    if is_linked:
        return "its master is still there and cannot be told that it is replaced: stop it first"
    if log_end == 0:
        return "it has copied nothing from any master"
    return ""


def takeover_doubt(log_end: int, copied_from: int) -> str:
    """What may be lost."""
    before = f"the messages before offset {copied_from} were never copied; " if copied_from else ""
    return (
        "this member followed a master that promises nothing (RocketMQ's plain stream): "
        f"{before}what that master acknowledged behind offset {log_end} is not here; "
        "consumers may see again what they committed in the last seconds"
    )


def founded_anew(state: GroupState, member_id: int, address: str, min_in_sync: int) -> GroupState:
    """A group of one, whose log begins where its copy began."""
    alone = InSyncSet(0, 0, (member_id,), min_in_sync, (member_id,))
    return replace(state, members={member_id: address}, in_sync=alone)
