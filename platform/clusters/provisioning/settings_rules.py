"""Which keys of broker.conf may come from the API, and what they may hold.

An allow-list: no key whose value is a path, an address or an identity is in it, so that no request can make a
broker read or write a file, listen elsewhere or take another's place. The engine checks values again when it
starts; what it would refuse is refused here, before a broker is stopped for it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from console.core.problems import Problem

_MS = 86_400_000
_INT32 = 2**31 - 1
_SEGMENT, _MESSAGE, _MARGIN = 1 << 30, 4 << 20, 64 << 10
"""Engine defaults: a commit log segment, the largest message, and what a segment must hold beside it."""


@dataclass(frozen=True, slots=True)
class Rule:
    pattern: str = ""
    low: int | None = None
    high: int | None = None
    is_live: bool = False
    """May be changed while the broker runs."""

    @property
    def words(self) -> str:
        """A pattern, or the bounds of a whole number: `1..64`."""
        return self.pattern or f"{self.low}..{self.high}"

    def refusal(self, text: str) -> str:
        if self.low is not None and self.high is not None:
            is_number = re.fullmatch(r"[0-9]{1,15}", text) is not None
            if not is_number or not self.low <= int(text) <= self.high:
                return f"a whole number from {self.low} to {self.high}"
            return ""
        return "" if re.fullmatch(self.pattern, text) else f"like {self.pattern}"


def _whole(low: int, high: int, is_live: bool = False) -> Rule:
    return Rule(low=low, high=high, is_live=is_live)


def _flag(is_live: bool = False) -> Rule:
    return Rule("true|false", is_live=is_live)


RULES: Mapping[str, Rule] = {
    # Live: changed while the broker runs, by code 25.
    "maxMessageSize": _whole(1, 15 << 20, True),
    "autoCreateTopicEnable": _flag(True),
    "autoCreateSubscriptionGroup": _flag(True),
    "defaultTopicQueueNums": _whole(1, 1024, True),
    "enableMixedMessageType": _flag(True),
    "longPollingEnable": _flag(True),
    "rejectTransactionMessage": _flag(True),
    "transactionTimeOut": _whole(0, _MS, True),
    "transactionCheckInterval": _whole(10, _MS, True),
    "transactionCheckMax": _whole(1, _INT32, True),
    "timerMaxDelaySec": _whole(1, 10 * 365 * 86_400, True),
    "recallMessageEnable": _flag(True),
    "slaveReadEnable": _flag(True),
    "traceOn": _flag(True),
    "brokerFastFailureEnable": _flag(True),
    "waitTimeMillsInSendQueue": _whole(1, _MS, True),
    "syncFlushTimeout": _whole(1, _MS, True),
    "slaveTimeout": _whole(1, _MS, True),
    "flushIntervalCommitLog": _whole(1, _MS, True),
    "flushConsumerOffsetInterval": _whole(10, _MS, True),
    "registerNameServerPeriod": _whole(10_000, 60_000, True),
    "fileReservedTime": _whole(1, 24 * 365 * 100, True),
    "deleteWhen": Rule(r"[0-2][0-9](;[0-2][0-9]){0,23}", is_live=True),
    "diskMaxUsedSpaceRatio": _whole(0, 100, True),
    "diskSpaceCleanForciblyRatio": _whole(0, 100, True),
    "diskSpaceWarningLevelRatio": _whole(0, 100, True),
    "logLevel": Rule("DEBUG|INFO|WARNING|ERROR", is_live=True),
    "signalboxMaxAutoCreatedTopics": _whole(0, _INT32, True),
    "signalboxMaxAutoCreatedTopicsPerAddress": _whole(0, _INT32, True),
    "signalboxMaxAutoCreatedGroups": _whole(0, _INT32, True),
    "signalboxMaxAutoCreatedGroupsPerAddress": _whole(0, _INT32, True),
    "signalboxClientRequestsPerSecond": _whole(0, _INT32, True),
    "signalboxClientBytesPerSecond": _whole(0, 10**15 - 1, True),
    "signalboxTopicRequestsPerSecond": _whole(0, _INT32, True),
    "signalboxTopicBytesPerSecond": _whole(0, 10**15 - 1, True),
    "signalboxGroupRequestsPerSecond": _whole(0, _INT32, True),
    "signalboxGroupBytesPerSecond": _whole(0, 10**15 - 1, True),
    # Read at start: a change restarts brokers, one after the other.
    "flushDiskType": Rule("SYNC_FLUSH|ASYNC_FLUSH"),
    "inSyncReplicas": _whole(1, 64),
    "minInSyncReplicas": _whole(1, 64),
    # Brokers refuse to change it while they run where messages are protected (docs/replication.md).
    "cleanFileForciblyEnable": _flag(),
    "allAckInSyncStateSet": _flag(),
    "haMaxTimeSlaveNotCatchup": _whole(100, _MS),
    "mappedFileSizeCommitLog": _whole(4096, 1 << 40),
    "mappedFileSizeConsumeQueue": _whole(20, 1 << 40),
    "mappedFileSizeTimerLog": _whole(4096, 1 << 40),
    "maxHashSlotNum": _whole(1, _INT32),
    "maxIndexNum": _whole(2, _INT32),
    "messageIndexEnable": _flag(),
    "transientStorePoolEnable": _flag(),
    "traceTopicEnable": _flag(),
    "enablePropertyFilter": _flag(),
    "messageDelayLevel": Rule(r"([0-9]{1,5}[smhd])( [0-9]{1,5}[smhd]){0,63}"),
    "timerWheelEnable": _flag(),
    "accessMessageInMemoryMaxRatio": _whole(1, 100),
    "maxTransferBytesOnMessageInMemory": _whole(1, 15 << 20),
    "maxTransferCountOnMessageInMemory": _whole(1, _INT32),
    "maxTransferBytesOnMessageInDisk": _whole(1, 15 << 20),
    "maxTransferCountOnMessageInDisk": _whole(1, _INT32),
    "signalboxMaxConnectionsPerIp": _whole(1, _INT32),
    "signalboxMaxReceivingBytes": _whole(1 << 20, 1 << 40),
    "signalboxMaxReceivingBytesPerIp": _whole(0, 1 << 40),
    "signalboxMaxSendingBytes": _whole(1 << 20, 1 << 40),
    "signalboxMaxSendingBytesPerIp": _whole(0, 1 << 40),
    "signalboxMaxLongPolls": _whole(1, _INT32),
}
FOR_GOOD = frozenset({"mappedFileSizeCommitLog", "mappedFileSizeConsumeQueue", "mappedFileSizeTimerLog"})
"""What the files of a store were made with; another value would not open them."""


def checked(given: Mapping[str, object], field: str = "overrides") -> dict[str, str]:
    """The same settings as texts, or a problem that names the key."""
    found: dict[str, str] = {}
    for key, value in given.items():
        text = str(value).lower() if isinstance(value, bool) else str(value).strip()
        rule = RULES.get(key)
        if rule is None:
            raise Problem(
                "setting_refused",
                f"{key[:80]} cannot be set by the console",
                400,
                field=f"{field}.{key[:80]}",
            )
        if wanted := rule.refusal(text):
            raise Problem(
                "setting_refused", f"{key}={text[:80]} is not allowed: {wanted}", 400, field=f"{field}.{key}"
            )
        found[key] = text
    _refuse_small_segments(found, field)
    return found


def _refuse_small_segments(given: Mapping[str, str], field: str) -> None:
    """As the engine does when it starts, which is too late for whoever asked."""
    segment = int(given.get("mappedFileSizeCommitLog", _SEGMENT))
    largest = int(given.get("maxMessageSize", _MESSAGE))
    if segment < largest + _MARGIN:
        raise Problem(
            "setting_refused",
            f"a segment of {segment} bytes does not hold a message of {largest} and {_MARGIN} more",
            400,
            field=f"{field}.mappedFileSizeCommitLog",
        )


def is_live(key: str) -> bool:
    return key in RULES and RULES[key].is_live
