"""Defaults that depend on other settings: profiles, and when a full disk may cost unexpired messages. Pure.

A profile is a list of settings that belong together, chosen by one line (`signalboxProfile=safe`). It only
fills in what broker.conf does not set. Without one a broker has RocketMQ's defaults, so an existing
broker.conf means what it always meant. docs/replication.md has the same lists for operators; a test compares
the two.

`cleanFileForciblyEnable`: RocketMQ deletes the oldest segments of a disk that is 85 % full, whatever their
age. Where acknowledgements promise more than that (profile `safe`, or `minInSyncReplicas` above 1), the
default here is false: a full disk refuses writes. An explicit true in broker.conf is obeyed there, with a
warning; it cannot be changed at run time there, because a promise must not change while messages depend on it
(docs/adr/0015). A slave that is promoted keeps its group's promise where its own broker.conf sets nothing
(`configures_deletion`).
"""

from __future__ import annotations

from collections.abc import Mapping

from engine.daemon.access_settings import STATE_KEY
from engine.errors import BadInput

PROFILE_KEY = "signalboxProfile"
FORCED_DELETION_KEY = "cleanFileForciblyEnable"
FORCED_DELETION_REFUSAL = (
    f"{FORCED_DELETION_KEY} cannot be changed at run time where acknowledged messages are protected "
    "(signalboxProfile=safe or minInSyncReplicas above 1): set it in broker.conf and restart the broker"
)

_BOTH = {
    "enablePropertyFilter": "true",
    "traceTopicEnable": "true",
    "recallMessageEnable": "true",
    "slaveReadEnable": "true",
}

PROFILES: Mapping[str, Mapping[str, str]] = {
    # Loss window: nothing acknowledged is lost while one of two members that acknowledged it keeps its disk.
    "safe": {
        **_BOTH,
        "flushDiskType": "SYNC_FLUSH",
        "brokerRole": "SYNC_MASTER",
        "minInSyncReplicas": "2",
        "allAckInSyncStateSet": "true",
        "authenticationEnabled": "true",
        "authorizationEnabled": "true",
        "autoCreateTopicEnable": "false",
        "autoCreateSubscriptionGroup": "false",
        "cleanFileForciblyEnable": "false",
    },
    # Loss window: what was acknowledged in the last half second and one flush when the machine loses power,
    # or what the slaves had not copied yet when its disk is lost. A killed process loses nothing.
    "fast": {
        **_BOTH,
        "flushDiskType": "ASYNC_FLUSH",
        "brokerRole": "ASYNC_MASTER",
        # RocketMQ's 4 would leave a trickle of messages unflushed for up to ten seconds.
        "flushCommitLogLeastPages": "0",
    },
}


def profile_defaults(given: Mapping[str, str]) -> dict[str, str]:
    """What the chosen profile sets where broker.conf does not."""
    name = given.get(PROFILE_KEY, "").strip()
    if not name:
        return {}
    if name not in PROFILES:
        raise BadInput(
            f"{PROFILE_KEY}={name:.200} is not allowed: it must be {' or '.join(sorted(PROFILES))}"
        )
    configured = set(given)
    if given.get(STATE_KEY, "").strip():
        # It decides which access control there is, instead of the profile.
        configured |= {"authenticationEnabled", "authorizationEnabled"}
    return {key: value for key, value in PROFILES[name].items() if key not in configured}


def protects_unexpired(given: Mapping[str, str]) -> bool:
    """Whether these settings (a profile's included) promise more than RocketMQ's forced deletion keeps."""
    minimum = given.get("minInSyncReplicas", "1").strip()
    return given.get(PROFILE_KEY, "").strip() == "safe" or (minimum.isdecimal() and int(minimum) > 1)


def configures_deletion(given: Mapping[str, str]) -> bool:
    """Whether broker.conf sets what happens on a full disk; otherwise a master takes its group's rule."""
    return FORCED_DELETION_KEY in given or "minInSyncReplicas" in given


def forced_deletion_default(given: Mapping[str, str]) -> dict[str, str]:
    """The default where it is not RocketMQ's."""
    is_unset = FORCED_DELETION_KEY not in given
    return {FORCED_DELETION_KEY: "false"} if is_unset and protects_unexpired(given) else {}


def forced_deletion_warning(*, is_protected: bool, is_enabled: bool) -> list[str]:
    if not (is_protected and is_enabled):
        return []
    return [
        f"{FORCED_DELETION_KEY}=true: when the disk fills up, this broker deletes acknowledged messages that "
        "have not expired, although signalboxProfile=safe or minInSyncReplicas promises to keep them"
    ]
