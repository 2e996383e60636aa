"""When a full disk may cost messages that have not expired: `cleanFileForciblyEnable`. Pure.

RocketMQ deletes the oldest segments of a disk that is 85 % full, whatever their age. Where acknowledgements
promise more than that (profile `safe`, or `minInSyncReplicas` above 1), the default here is false: a full
disk refuses writes. An explicit true in broker.conf is obeyed there, with a warning; it cannot be changed at
run time there, because a promise must not change while messages rest on it (docs/adr/0015). A slave that is
promoted keeps its group's promise where its own broker.conf says nothing (`says_deletion`).
"""

from __future__ import annotations

from collections.abc import Mapping

from engine.broker.settings.profiles import PROFILE_KEY

FORCED_DELETION_KEY = "cleanFileForciblyEnable"
FORCED_DELETION_REFUSAL = (
    f"{FORCED_DELETION_KEY} cannot be changed at run time where acknowledged messages are protected "
    "(signalboxProfile=safe or minInSyncReplicas above 1): set it in broker.conf and restart the broker"
)


def protects_unexpired(given: Mapping[str, str]) -> bool:
    """Whether these settings (a profile's included) promise more than RocketMQ's forced deletion keeps."""
    minimum = given.get("minInSyncReplicas", "1").strip()
    return given.get(PROFILE_KEY, "").strip() == "safe" or (minimum.isdecimal() and int(minimum) > 1)


def says_deletion(given: Mapping[str, str]) -> bool:
    """Whether broker.conf says what is wanted on a full disk; else a master takes its group's rule."""
    return FORCED_DELETION_KEY in given or "minInSyncReplicas" in given


def forced_deletion_default(given: Mapping[str, str]) -> dict[str, str]:
    """What counts where broker.conf is silent and RocketMQ's default does not."""
    is_silent = FORCED_DELETION_KEY not in given
    return {FORCED_DELETION_KEY: "false"} if is_silent and protects_unexpired(given) else {}


def forced_deletion_warning(*, is_protected: bool, is_enabled: bool) -> list[str]:
    if not (is_protected and is_enabled):
        return []
    return [
        f"{FORCED_DELETION_KEY}=true: when the disk fills up, this broker deletes acknowledged messages that "
        "have not expired, although signalboxProfile=safe or minInSyncReplicas promises to keep them"
    ]
