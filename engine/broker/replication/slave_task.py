"""Follows one master: finds it, asks which dialect it speaks, copies its log, and tries again.

The master's address comes from the group's own state, from a promotion, or from the name servers; it is
asked over the remoting port first (SIGNALBOX_GROUP_STATUS), and a broker that does not know the request
is Apache's. Created when this broker becomes a slave and dropped when it stops being one.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from msgspec.structs import replace

from engine.broker.failover.group_file_io import GroupFile
from engine.broker.failover.master_search_io import MasterPlace
from engine.broker.replication.acknowledgement import ConfirmedOffset
from engine.broker.replication.epochs import tail_of, tail_to_json
from engine.broker.replication.ha_port_io import introduce
from engine.broker.replication.master_link_io import (
    HistoriesDiffer,
    MasterLink,
    PlainMasterLink,
    read_hello,
)
from engine.daemon.background_tasks import start_task, stop_tasks
from engine.errors import EngineError
from engine.net.requester import parse_address
from engine.store.message_store import MessageStore

log = logging.getLogger(__name__)

RETRY_S = 1.0
DIFFERENCE_RETRY_S = 30.0
CONNECT_S = 3.0
_READ_LIMIT_BYTES = 4 << 20


class Follower:
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
        self.link: MasterLink | PlainMasterLink | None = None
        self.trouble = ""
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
        place = await self._find_master()
        if place is None:
            self._note("no master is known")
            return
        if place.is_ours and self._secret is None:
            self._note("the master requires a cluster secret (signalboxClusterSecretFile) and there is none")
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
        me = {**self._me, "logStart": self._store.log.min_offset, **self._tail()}
        hello = read_hello(await introduce(reader, writer, self._secret, me))
        link = self.link = MasterLink(
            reader,
            writer,
            self._store,
            self._file,
            self._confirmed,
            hello,
            truncate=self._cut_log,
            appended=self._appended,
            now_ms=self._now_ms,
        )
        log.info("following member %d, epoch %d", hello.member_id, hello.epoch)
        self.trouble = ""
        await link.run()

    def _tail(self) -> dict[str, Any]:
        """How the log ends, where it has no history to compare."""
        if self._file.known.history:
            return {}
        tail = tail_of(self._store)
        return {} if tail is None else {"tail": tail_to_json(tail)}

    async def _copy_plain(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """A plain master has no epochs: nothing is confirmed, and all that is copied may be read."""
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
        self.trouble = ""
        await link.run()

    async def _begins_at(self, commit_log_offset: int) -> None:
        """On disk before the first byte: a copy without its beginning must never become master."""
        await self._file.change(lambda state: replace(state, copied_from=commit_log_offset))

    def _note(self, trouble: str) -> None:
        if trouble != self.trouble:
            log.warning("the master cannot be followed: %s", trouble)
        self.trouble = trouble
