"""When an append is acknowledged: at once, after a flush, or after replication. One rule for every answer.

The settings decide (`flushDiskType`, `brokerRole`, `inSyncReplicas`, `minInSyncReplicas`,
`allAckInSyncStateSet`). Refusals come before the append; after it an answer can only be late.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from engine.broker.replication.acknowledgement import AckRule, Replicas
from engine.broker.settings.options import BrokerOptions, LiveOptions
from engine.net.outcomes import Outcome, Reply, WaitFlush, WaitReplicas
from engine.protocol.codes import ResponseCode
from engine.store.results import PutResult


@dataclass(eq=False, repr=False)
class Durability:
    live: LiveOptions
    is_sync_flush: bool
    rule: AckRule | None
    replicas: Callable[[], Replicas | None]

    @property
    def is_instant(self) -> bool:
        """Whether no answer ever waits."""
        return not self.is_sync_flush and self.rule is None

    def check(self) -> None:
        """Before the append: refuse it if the in-sync set is too small."""
        if self.rule is not None:
            self.rule.check(self.replicas())

    def answer(self, end: int, reply: Reply, late_disk: Reply, late_replicas: Reply, alone: Reply) -> Outcome:
        """Answer `reply` once the log is flushed and replicated up to `end`; `alone` if there is no slave."""
        rule = self.rule
        waits_for_replicas = rule is not None and not rule.finds_none(self.replicas())
        if rule is not None and not waits_for_replicas:
            reply = alone
        here: Outcome = reply
        if self.is_sync_flush:
            here = WaitFlush(end, self.live.sync_flush_timeout, reply, late_disk)
        if rule is None or not waits_for_replicas:
            return here
        return WaitReplicas(end, rule.count, self.live.slave_timeout, here, late_replicas)

    def answer_send(
        self, result: PutResult, fields: dict[str, str], alone: ResponseCode | None = None
    ) -> Outcome:
        """For sends, whose clients know the codes 10 to 12."""
        late_disk = Reply(ResponseCode.FLUSH_DISK_TIMEOUT, "stored, but not known to be on disk", fields)
        late = Reply(ResponseCode.FLUSH_SLAVE_TIMEOUT, "stored, but not known to be on replicas", fields)
        no_slave = late if alone is None else Reply(alone, "stored, but there is no slave", fields)
        end = result.commit_log_offset + result.size
        return self.answer(end, Reply(0, None, fields), late_disk, late, no_slave)

    def answer_or_fail(self, end: int, reply: Reply) -> Outcome:
        """For requests whose clients only know success and failure."""
        late_disk = Reply(ResponseCode.SYSTEM_ERROR, "stored, but not known to be on disk")
        late_replicas = Reply(ResponseCode.SYSTEM_ERROR, "stored, but not known to be on enough replicas")
        return self.answer(end, reply, late_disk, late_replicas, late_replicas)


def durability(options: BrokerOptions, replicas: Callable[[], Replicas | None]) -> Durability:
    rule = AckRule(options.in_sync_replicas, options.min_in_sync_replicas, options.all_ack_in_sync_state_set)
    waits = options.broker_role != "ASYNC_MASTER" and (rule.needs_replicas() or rule.min_in_sync_replicas > 1)
    return Durability(
        options.live, is_sync_flush=options.is_sync_flush, rule=rule if waits else None, replicas=replicas
    )
