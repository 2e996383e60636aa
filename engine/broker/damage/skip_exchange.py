"""The members of a broker group exchange which groups have skipped which damaged record.

A skip matters to the master alone: it redelivers. So the master's list is copied to its slaves with its
other state (30020, as the file damagedRecords.json), and one that is promoted knows what its groups are
owed. A slave may know of a skip that its master does not: it served consumers while there was no master,
or it was master itself and died before the list was copied. It then reports to the master (30017).
Releases and brokers that know nothing of this send no such file and refuse the request: nothing else
depends on it.

Both ways carry the rows of `damaged_records`, owed ones first, and 4 MB at most. A row says that a record
was skipped, not that it is damaged here: each member looks at its own copy. Loop thread only.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from engine.broker.damage.damaged_records import (
    DAMAGE_FILE,
    DamagedRecord,
    DamagedRecords,
    Key,
    decode_rows,
    encode_rows,
)
from engine.broker.failover.role import Role
from engine.store.log.message_log import MessageLog
from engine.store.recovery.record_repair import RecordRepair

log = logging.getLogger(__name__)

MAX_COPY_BYTES = 4 << 20


@dataclass(eq=False, repr=False)
class SkipExchange:
    records: DamagedRecords
    log: MessageLog
    repairs: RecordRepair
    role: Role
    save: Callable[[str], None]
    look: Callable[[], None]
    """Checks this member's own copies of the records."""
    _taken: tuple[int, bytes] = field(default=(-1, b""), init=False)
    _adopted: bytes = field(default=b"", init=False)
    _masters: frozenset[tuple[Key, str]] = field(default_factory=frozenset, init=False)
    """The skips that the master knows, as a slave has read last."""

    # -- a master -------------------------------------------------------------------------------------------

    def take(self) -> bytes:
        """What the slaves copy; encoded again only after a change."""
        if self._taken[0] != self.records.revision:
            skipped = [record for record in self.records if record.skips]
            skipped.sort(key=lambda record: not record.is_owed)
            self._taken = self.records.revision, encode_rows(skipped, MAX_COPY_BYTES)
        return self._taken[1]

    def take_from_slave(self, data: bytes) -> int:
        """A slave's skips; how many records were new."""
        return self._merge(decode_rows(data) or [], is_masters=False)

    # -- a slave --------------------------------------------------------------------------------------------

    def adopt(self, data: bytes) -> None:
        """The master's list."""
        if data == self._adopted:
            return
        records = decode_rows(data)
        if records is None:
            log.warning("cannot read the master's list of skipped records: %d bytes", len(data))
            return
        self._adopted = data
        self._masters = frozenset((record.key, name) for record in records for name in record.skips)
        self._merge(records, is_masters=True)

    def unreported(self) -> bytes | None:
        """The skips that the master does not know; None when it knows all."""
        unreported = [
            DamagedRecord(record.damage, record.found_ms, record.repaired_ms, owed)
            for record in self.records
            if (
                owed := {
                    name: skip
                    for name, skip in record.skips.items()
                    if not skip.redelivered_ms and (record.key, name) not in self._masters
                }
            )
        ]
        return encode_rows(unreported, MAX_COPY_BYTES) if unreported else None

    # -- both -----------------------------------------------------------------------------------------------

    def skipped_count(self) -> int:
        """Messages that a group has skipped and not received since; a skip that the master knows counts
        once, at the master."""
        is_master, known = self.role.is_master, self._masters
        owed = (
            key
            for key, name, skip in self.records.skips()
            if not skip.redelivered_ms and (is_master or (key, name) not in known)
        )
        return len(set(owed))

    def _merge(self, records: list[DamagedRecord], *, is_masters: bool) -> int:
        log_start, repairs = self.log.min_offset, self.repairs
        news = 0
        for record in records:
            offset, size = record.damage.commit_log_offset, record.damage.size
            if offset >= log_start and size > 0:
                file = repairs.damage_at(offset, size).file
                news += self.records.merge(record, file, is_masters=is_masters)
        if news:
            self.save(DAMAGE_FILE)
            self.look()
        return news
