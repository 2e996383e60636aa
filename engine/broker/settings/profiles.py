"""Profiles: lists of settings that belong together, chosen by one line (`signalboxProfile=safe`).

A profile only fills in what broker.conf does not say. Without one a broker has RocketMQ's defaults, so an
existing broker.conf means what it always meant. docs/replication.md says the same for operators; a test
compares the two.
"""

from __future__ import annotations

from collections.abc import Mapping

from engine.daemon.access_settings import STATE_KEY
from engine.errors import BadInput

PROFILE_KEY = "signalboxProfile"

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
    """What the chosen profile says where broker.conf is silent."""
    name = given.get(PROFILE_KEY, "").strip()
    if not name:
        return {}
    if name not in PROFILES:
        raise BadInput(
            f"{PROFILE_KEY}={name:.200} is not allowed: it must be {' or '.join(sorted(PROFILES))}"
        )
    told = set(given)
    if given.get(STATE_KEY, "").strip():
        # It says which access control there is: the profile's switches stand back.
        told |= {"authenticationEnabled", "authorizationEnabled"}
    return {key: value for key, value in PROFILES[name].items() if key not in told}
