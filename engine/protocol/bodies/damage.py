"""Answer to 30030, our own: the damaged records of a broker, and who has skipped them."""

from __future__ import annotations

from msgspec import field

from engine.protocol.wire import Body, Int64

DELIVERY_PREFIX = "%DELIVERY%"
"""What a message that was damaged when its delay had passed was skipped by: this and its real topic, or this
alone where the topic cannot be read."""


class SkippedRecord(Body, frozen=True):
    """One group's skip; `redelivered_ms` is 0 until it got the message after all. `way` is "pull" or "pop" of
    a group, "delay" or "timer" of the delivery to a topic."""

    at_ms: Int64 = 0
    way: str = ""
    redelivered_ms: Int64 = 0


class DamagedRecordRow(Body, frozen=True):
    """`topic` is empty while only the place in the log is known; `repaired_ms` is 0 while it is damaged;
    `found_ms` is 0 of a record that another member skipped and this one has not looked at yet."""

    offset: Int64 = -1
    size: Int64 = 0
    file: str = ""
    topic: str = ""
    queue_id: Int64 = -1
    queue_offset: Int64 = -1
    found_ms: Int64 = 0
    repaired_ms: Int64 = 0
    skips: dict[str, SkippedRecord] = field(default_factory=dict)


class DamagedRecordList(Body, frozen=True):
    records: tuple[DamagedRecordRow, ...] = ()
