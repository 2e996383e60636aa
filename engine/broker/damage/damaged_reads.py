"""What a read of a damaged record is answered with: wait for its repair, or skip it. Loop thread only.

Clients go on with every answer: PULL_RETRY_IMMEDIATELY with the next offset is an everyday answer to them (a
filter passed over messages). Before a group is told to skip, the skip is in the list on disk. A slave whose
master is alive skips nothing: it sends the group there.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from engine.broker.damage.damaged_records import DAMAGE_FILE, WAIT_MS, DamagedRecords, Repairs, wait_key
from engine.broker.failover.role import Role, RoleKind
from engine.net.outcomes import Hold, Later, Outcome, Persist
from engine.store.message_store import MessageStore
from engine.store.results import Damage

log = logging.getLogger(__name__)


def may_not_skip(role: Role) -> bool:
    """A slave sends the group to its master, and whoever seeks a master waits for it. Pure."""
    return not role.is_master and (role.is_master_alive or role.kind is RoleKind.SEEKING)


class DamagedReads:
    def __init__(
        self,
        store: MessageStore,
        records: DamagedRecords,
        repairs: Repairs,
        role: Role,
        *,
        now_ms: Callable[[], int],
    ) -> None:
        self._store = store
        self._records = records
        self._repairs = repairs
        self._role = role
        self._now_ms = now_ms

    def answer(
        self,
        damage: Damage,
        group: str,
        way: str,
        *,
        again: Callable[[], Outcome] | None,
        later: Callable[[], Outcome],
        skip: Callable[[], Outcome],
    ) -> Outcome:
        """`again` reads once more (None: this is the second time), `later` asks the client to come back with
        the same offset, `skip` goes on behind the record."""
        if self._store.repairs.mend_queue(damage.topic, damage.queue_id, damage.queue_offset) and again:
            return again()
        record = self._repairs.note(damage)
        if not self._repairs.is_given_up(record):
            self._repairs.begin(record)
            if again is None:
                return later()
            return Hold(Later(again, (wait_key(damage),)), WAIT_MS)
        if may_not_skip(self._role):
            return later()
        if not self._records.skip(record, group, way, self._now_ms()):
            return skip()
        where = damage.commit_log_offset, damage.file, damage.queue_offset, damage.topic, damage.queue_id
        log.warning(
            "group %s skips the damaged record at commit-log offset %d in %s: queue offset %d of %s@%d, "
            "which nobody has",
            group,
            *where,
        )
        return Persist(DAMAGE_FILE, resume=skip)


def skip_remark(damage: Damage) -> str:
    return (
        f"MESSAGE_DAMAGED: the message at queue offset {damage.queue_offset} (commit-log offset "
        f"{damage.commit_log_offset}) is damaged and was skipped"
    )


def wait_remark(damage: Damage) -> str:
    return (
        f"MESSAGE_DAMAGED: the message at queue offset {damage.queue_offset} (commit-log offset "
        f"{damage.commit_log_offset}) is damaged and is being repaired"
    )
