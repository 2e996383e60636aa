"""Mutant: an old master does not cut its own tail: it goes on where the new one's log has become as long."""

from __future__ import annotations

import asyncio
import sys

from engine.broker.failover.group_state import GroupState
from engine.broker.main import main
from engine.broker.replication import slave_task as following
from engine.broker.replication.master_link_io import HistoriesDiffer, MasterHello, MasterLink

_join = MasterLink._join_histories


async def _keep(self: MasterLink, offset: int, state: GroupState) -> None:
    pass


async def _join_when_longer(self: MasterLink, hello: MasterHello) -> None:
    if self._store.log.max_offset > hello.max_offset:
        await asyncio.sleep(0.5)
        raise HistoriesDiffer("not yet")
    await _join(self, hello)


MasterLink._cut = _keep  # type: ignore[method-assign]
MasterLink._join_histories = _join_when_longer  # type: ignore[method-assign]

if __name__ == "__main__":
    following.DIFFERENCE_RETRY_S = 0.5
    sys.exit(main())
