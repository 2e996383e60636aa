"""One time as slave: finds the master, asks which dialect it speaks, copies its log, and tries again.

The master's address comes from the group's own state, from a promotion, or from the name servers; it is asked
over the remoting port first (SIGNALBOX_GROUP_STATUS), and a broker that does not know the request is
Apache's. Made when this broker becomes a slave and thrown away when it stops being one.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from engine.broker.failover.group_file_io import GroupFile
from engine.broker.failover.master_search_io import MasterPlace
from engine.broker.replication.confirmed_offset import ConfirmedOffset
from engine.broker.replication.handshake_io import introduce
from engine.broker.replication.master_link_io import HistoriesDiffer, MasterLink, read_hello
from engine.broker.replication.plain_links_io import PlainMasterLink
from engine.broker.replication.tails import tail_of, tail_to_json
from engine.daemon.background_tasks import start_task, stop_tasks
from engine.errors import EngineError
from engine.net.requester import parse_address
from engine.store.message_store import MessageStore

log = logging.getLogger(__name__)

RETRY_S = 1.0
DIFFERENCE_RETRY_S = 30.0
CONNECT_S = 3.0
_READ_LIMIT_BYTES = 4 << 20


class Following:
    def __init__(
        self,
        me: dict[str, Any],
        secret: bytes | None,
        file: GroupFile,
        store: MessageStore,
        confirmed: ConfirmedOffset,
        find_master: Callable[[], Awaitable[MasterPlace | None]],
        *,
        cut_log: Callable[[int], Awaitable[None]],
        appended: Callable[[], None],
        now_ms: Callable[[], int],
    ) -> None:
        self._me = me
        self._secret = secret
        self._file = file
        self._store = store
        self._confirmed = confirmed
        self._find_master = find_master
        self._cut_log = cut_log
        self._appended = appended
        self._now_ms = now_ms
        self._task: asyncio.Task[None] | None = None
        self._said = ""
        self.link: MasterLink | PlainMasterLink | None = None
        self.trouble = ""
        """Why nothing is copied now; for operators."""

    def start(self) -> None:
        self._task = start_task(self._follow_forever(), "follow the master")

    async def stop(self) -> None:
        """When this returns, no byte of the master's is written any more."""
        await stop_tasks(self._task)
        self.link = None

    @property
    def is_behind_plain(self) -> bool:
        """A master that is none of ours is sending, or just was."""
        return isinstance(self.link, PlainMasterLink)

    @property
    def may_delete_to(self) -> int | None:
        """Where the log of the master of ours starts that this member follows now; None without one."""
        link = self.link
        return link.may_delete_to if isinstance(link, MasterLink) and link.has_joined else None

    @property
    def is_told_starts(self) -> bool:
        """Whether that is a decision of the master's, which is obeyed whatever this member would do."""
        return isinstance(self.link, MasterLink) and self.link.decides_starts

    def flushed(self) -> None:
        """More of the log is safe: the master wants to know."""
        if self.link is not None:
            self.link.say()

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
        place = await self._find_master()
        if place is None:
            self._note("no master is known")
            return
        if place.is_ours and self._secret is None:
            self._note("the master wants a cluster secret (signalboxClusterSecretFile) and there is none")
            return
        host, port = parse_address(place.ha_address)
        async with asyncio.timeout(CONNECT_S):
            reader, writer = await asyncio.open_connection(host, port, limit=_READ_LIMIT_BYTES)
        try:
            await (self._copy if place.is_ours else self._copy_plain)(reader, writer)
        finally:
            writer.transport.abort()

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert self._secret is not None
        start = {"logStart": self._store.log.min_offset}
        hello = read_hello(
            await introduce(reader, writer, self._secret, {**self._me, **start, **self._tail()})
        )
        link = self.link = MasterLink(
            reader,
            writer,
            self._store,
            self._file,
            self._confirmed,
            truncate=self._cut_log,
            appended=self._appended,
            now_ms=self._now_ms,
        )
        log.info("following member %d, epoch %d", hello.member_id, hello.epoch)
        self.trouble = self._said = ""
        await link.run(hello)

    def _tail(self) -> dict[str, Any]:
        """What a log without a history can show for itself."""
        if self._file.state is not None and self._file.state.history:
            return {}
        tail = tail_of(self._store)
        return {} if tail is None else {"tail": tail_to_json(tail)}

    async def _copy_plain(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """A plain master has no epochs: what is copied from it is confirmed by nobody, and readable."""
        self._confirmed.move(None)
        link = self.link = PlainMasterLink(
            reader,
            writer,
            self._store,
            appended=self._appended,
            begins_at=self._begins_at,
            now_ms=self._now_ms,
        )
        log.info("following a plain master")
        self.trouble = self._said = ""
        await link.run()

    async def _begins_at(self, commit_log_offset: int) -> None:
        """On disk before the first byte: a copy without its beginning must never become master."""
        await self._file.change(lambda state: replace(state, copied_from=commit_log_offset))

    def _note(self, trouble: str) -> None:
        self.trouble = trouble
        if trouble != self._said:
            self._said = trouble
            log.warning("the master cannot be followed: %s", trouble)
