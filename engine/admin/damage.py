"""Damaged records: what is damaged, what was repaired, and what a group has skipped."""

from __future__ import annotations

from engine.admin.commands import (
    BROKER,
    CLUSTER,
    Arguments,
    Result,
    Table,
    chosen_brokers,
    command,
    group_option,
)
from engine.admin.times import shown_time
from engine.client.admin import Admin
from engine.protocol.bodies.damage import DamagedRecordRow, SkippedRecord

_COLUMNS = (
    "Broker",
    "File",
    "Commit-log offset",
    "Size",
    "Topic",
    "Queue",
    "Queue offset",
    "Found",
    "Repaired",
    "Skipped by",
    "Skipped",
    "Redelivered",
)


@command(
    "damagedRecords",
    "Damaged records of brokers, and which groups have skipped them",
    BROKER,
    CLUSTER,
    group_option(required=False),
    example="damagedRecords -b 127.0.0.1:10911 -g billing",
    one_of=("brokerAddr", "clusterName"),
)
async def damaged_records(admin: Admin, arguments: Arguments) -> Result:
    rows: list[tuple[object, ...]] = []
    for broker in await chosen_brokers(admin, arguments):
        found = await admin.broker_groups.damaged_records(broker, arguments.groupName)
        for record in found.records:
            skips = record.skips or {"-": SkippedRecord()}
            rows += [_row(broker, record, group, skip) for group, skip in skips.items()]
    return Table(_COLUMNS, rows)


def _row(broker: str, record: DamagedRecordRow, group: str, skip: SkippedRecord) -> tuple[object, ...]:
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
        group,
        shown_time(skip.at_ms),
        shown_time(skip.redelivered_ms),
    )
