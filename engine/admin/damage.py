"""Damaged records: what is damaged, what was repaired, and what was skipped by whom."""

from __future__ import annotations

from engine.admin.broker_targets import broker_command, chosen_masters
from engine.admin.commands import Arguments, group_option
from engine.admin.results import Result, Row, Table
from engine.admin.times import shown_time
from engine.client import Admin
from engine.protocol.bodies.brokers import DELIVERY_PREFIX, DamagedRecordRow, SkippedRecord

_DAMAGE_COLUMNS = (
    *("Broker", "File", "Commit log offset", "Size", "Topic", "Queue", "Queue offset"),
    *("Found", "Repaired", "Skipped by", "Skipped", "Redelivered"),
)


@broker_command(
    "damagedRecords",
    "Damaged records of brokers, and which groups have skipped them",
    group_option(required=False),
)
async def damaged_records(admin: Admin, arguments: Arguments) -> Result:
    rows: list[Row] = []
    for broker in await chosen_masters(admin, arguments):
        found = await admin.broker_groups.damaged_records(broker, arguments.groupName)
        for record in found.records:
            skips = record.skips or {"-": SkippedRecord()}
            rows += [_damage_row(broker, record, group, skip) for group, skip in skips.items()]
    return Table(_DAMAGE_COLUMNS, rows)


def shown_name(name: str) -> str:
    """Who has skipped it: a group, or the delivery of a message that waited for its time."""
    if not name.startswith(DELIVERY_PREFIX):
        return name
    topic = name.removeprefix(DELIVERY_PREFIX)
    return f"delivery to {topic}" if topic else "delivery (topic unreadable)"


def _damage_row(broker: str, record: DamagedRecordRow, group: str, skip: SkippedRecord) -> Row:
    has_queue = bool(record.topic)
    return (
        broker,
        record.file or "-",
        record.offset if record.offset >= 0 else "-",
        record.size,
        record.topic or "-",
        record.queue_id if has_queue else "-",
        record.queue_offset if has_queue else "-",
        shown_time(record.found_ms),
        shown_time(record.repaired_ms),
        shown_name(group),
        shown_time(skip.at_ms),
        shown_time(skip.redelivered_ms),
    )
