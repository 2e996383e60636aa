"""Follows one master: finds it, asks which dialect it speaks, copies its log, and tries again.

The master's address comes from the group's own state, from a promotion, or from the name servers; it is
asked over the remoting port first (SIGNALBOX_GROUP_STATUS), and a broker that does not know the request
is Apache's. Created when this broker becomes a slave and dropped when it stops being one.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from engine.broker.failover.master_search_io import MasterPlace
from engine.broker.replication.epochs import tail_of, tail_to_json
from engine.broker.replication.ha_port_io import Stream, introduce
from engine.broker.replication.master_link_io import (
    HistoriesDiffer,
    LogCopy,
    MasterLink,
    PlainMasterLink,
    read_hello,
)
from engine.daemon.running import start_task, stop_tasks
from engine.errors import EngineError
from engine.net.requester import parse_address

log = logging.getLogger(__name__)

RETRY_S = 1.0
DIFFERENCE_RETRY_S = 30.0
CONNECT_S = 3.0
_READ_LIMIT_BYTES = 4 << 20


@dataclass(eq=False, repr=False)
class Follower:
    me: dict[str, Any]
    secret: bytes | None
    copy: LogCopy
    find_master: Callable[[], Awaitable[MasterPlace | None]]
    _task: asyncio.Task[None] | None = field(default=None, init=False)
    link: MasterLink | PlainMasterLink | None = field(default=None, init=False)
    trouble: str = field(default="", init=False)
    """Why nothing is copied now; shown to operators."""

    def start(self) -> None:
        self._task = start_task(self._follow_forever(), "follow the master")

    async def stop(self) -> None:
        """When this returns, none of the master's bytes is written any more."""
        await stop_tasks(self._task)
        self.link = None

    @property
    def is_behind_plain(self) -> bool:
        """A plain master is sending, or just was."""
        return isinstance(self.link, PlainMasterLink)

    @property
    def may_delete_to(self) -> int | None:
        """Where the log of this member's master starts; None without one, or behind a plain master."""
        link = self.link
        return link.may_delete_to if isinstance(link, MasterLink) and link.has_joined else None

    @property
    def obeys_starts(self) -> bool:
        """Whether that is the master's decision, which this member obeys."""
        return isinstance(self.link, MasterLink) and self.link.decides_starts

    def flushed(self) -> None:
        """More of the log is safe: report it to the master."""
        if self.link is not None:
            self.link.report_end()

    async def _follow_forever(self) -> None:
        while True:
            pause_s = RETRY_S
            try:
                await self._follow()
            except HistoriesDiffer as error:
                pause_s = DIFFERENCE_RETRY_S
                self._note(error.text)
            except EngineError as error:
                self._note(error.text)
            except (OSError, EOFError, TimeoutError) as error:
                self._note(str(error) or type(error).__name__)
            finally:
                self.link = None
            await asyncio.sleep(pause_s)

    async def _follow(self) -> None:
        place = await self.find_master()
        if place is None:
            self._note("no master is known")
            return
        if place.is_ours and self.secret is None:
            self._note("the master requires a cluster secret (signalboxClusterSecretFile) and there is none")
            return
        host, port = parse_address(place.ha_address)
        async with asyncio.timeout(CONNECT_S):
            stream = Stream(*await asyncio.open_connection(host, port, limit=_READ_LIMIT_BYTES))
        try:
            await (self._copy if place.is_ours else self._copy_plain)(stream)
        finally:
            stream.writer.transport.abort()

    async def _copy(self, stream: Stream) -> None:
        assert self.secret is not None
        me = {**self.me, "logStart": self.copy.store.log.min_offset, **self._tail()}
        hello = read_hello(await introduce(stream, self.secret, me))
        link = self.link = MasterLink(stream, self.copy, hello)
        log.info("following member %d, epoch %d", hello.member_id, hello.epoch)
        self.trouble = ""
        await link.run()

    def _tail(self) -> dict[str, Any]:
        """How the log ends, where it has no history to compare."""
        if self.copy.file.known.history:
            return {}
        tail = tail_of(self.copy.store.log, self.copy.store.replica)
        return {} if tail is None else {"tail": tail_to_json(tail)}

    async def _copy_plain(self, stream: Stream) -> None:
        """A plain master has no epochs: nothing is confirmed, and all that is copied may be read."""
        self.copy.confirmed.move(None)
        link = self.link = PlainMasterLink(stream, self.copy)
        log.info("following a plain master")
        self.trouble = ""
        await link.run()

    def _note(self, trouble: str) -> None:
        if trouble != self.trouble:
            log.warning("the master cannot be followed: %s", trouble)
        self.trouble = trouble
