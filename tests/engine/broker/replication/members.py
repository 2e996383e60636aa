"""Members of a group in one process: real stores, real files, real HA sockets. Only what brokers ask of each
other over the remoting port goes by call."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from engine.broker.failover.group_file_io import GroupFile
from engine.broker.failover.group_state import GroupName
from engine.broker.failover.member_task import GroupMember
from engine.broker.failover.role import GroupRules, RoleHooks
from engine.broker.replication.ha_port_io import HaServer
from engine.broker.storage.log_events import LogEvents
from engine.errors import EngineError, PeerError, PeerUnreachable
from engine.protocol.bodies.brokers import GroupStatus
from engine.protocol.codes import ResponseCode
from tests.engine.store.samples import dispatch_all, draft, flush_all, open_store, put

SECRET = b"a secret of the cluster"


class Wire:
    """Requests between members, by call; a member that is cut off or dead does not answer."""

    def __init__(self) -> None:
        self.members: dict[str, Member] = {}
        self.cut: set[tuple[int, int]] = set()
        self.strangers: dict[str, str] = {}
        """Addresses of masters that are none of ours, and of their HA ports."""
        self.named: list[str] | None = []
        """Whom the name servers name; None: they are down."""

    def reach(self, me: int, address: str) -> GroupMember:
        other = self.members.get(address)
        if other is None or (me, other.member_id) in self.cut:
            raise PeerUnreachable(f"{address} does not answer")
        return other.replication


class Requests:
    def __init__(self, wire: Wire, me: int) -> None:
        self._wire, self._me = wire, me

    async def others_named(self, own_address: str) -> list[str]:
        if self._wire.named is None:
            raise PeerUnreachable("the name servers are down")
        return [address for address in self._wire.named if address != own_address]

    async def status(self, address: str) -> GroupStatus:
        replication = self._wire.reach(self._me, address)
        if address in self._wire.strangers:
            raise PeerError("not supported", code=ResponseCode.REQUEST_CODE_NOT_SUPPORTED)
        return replication.status()

    async def count_messages(self, address: str, begin: int, end: int) -> int | None:
        return await self._wire.reach(self._me, address).count_messages(begin, end)

    async def promise(self, address: str, epoch: int, term_id: int) -> GroupStatus:
        return await self._wire.reach(self._me, address).promise(epoch, term_id)

    async def become_master(self, address: str, epoch: int, term_id: int) -> None:
        await self._wire.reach(self._me, address).become_master(epoch, term_id)

    async def follow(self, address: str, epoch: int, term_id: int, master_id: int, master: str) -> None:
        await self._wire.reach(self._me, address).follow(epoch, term_id, master_id, master)

    async def hand_over(self, address: str, epoch: int, member_id: int) -> None:
        nonce = secrets.randbits(62)
        await self._wire.reach(self._me, address).hand_over(epoch, member_id, 2_000, nonce)


class Member:
    """One broker without its clients."""

    def __init__(
        self,
        root: Path,
        wire: Wire,
        member_id: int,
        port: int,
        *,
        master: str | None = None,
        min_in_sync: int = 2,
        catch_up_ms: int = 15_000,
        secret: bytes | None = SECRET,
        now_ms: Callable[[], int] | None = None,
        **changes: object,
    ) -> None:
        self.member_id = member_id
        self.address = f"member-{member_id}"
        self.port = port
        self._wire, self._master = wire, master
        """Also whom a name server names."""
        self.store = open_store(root, **changes)
        self.file = GroupFile(root / "config", ThreadPoolExecutor(1))
        self.file.load()
        self.role = "none"
        self.server = HaServer(secret, allows_plain=self.address in wire.strangers)
        hooks = RoleHooks(
            self._become_master,
            self._become_slave,
            self._seek,
            self._truncate,
            lambda: False,
        )
        events = LogEvents()
        events.on_appended.append(self._appended)
        events.on_visible.append(self._appended)
        self.replication = GroupMember(
            GroupName("c", "b", member_id),
            self.address,
            f"127.0.0.1:{port}",
            secret,
            GroupRules(min_in_sync, catch_up_ms),
            self.file,
            self.store,
            self.server,
            Requests(wire, member_id),
            hooks,
            events,
            named_master=lambda: (self._master, wire.strangers.get(self._master or "")),
            now_ms=now_ms or _loop_ms,
        )
        self._now_ms = now_ms or _loop_ms

    async def start(self) -> None:
        server = await asyncio.start_server(self.server._take, "127.0.0.1", self.port)
        self.server._server = server
        self._wire.members[self.address] = self
        await self.replication.start(is_slave=self._master is not None)

    async def stop(self) -> None:
        self._wire.members.pop(self.address, None)
        await self.replication.stop()
        self.store.close()

    async def _become_master(self, epoch: int) -> None:
        term = self.replication.streams.term
        while self.store.queues.dispatched_offset < self.store.log.max_offset:
            dispatch_all(self.store)
            await asyncio.sleep(0.01)
        if self.replication.streams.term is not term:
            return
        self.role = "master"
        self.store.replica.adopt_queue_offsets()

    async def _become_slave(self, address: str | None, broker_id: int, epoch: int) -> None:
        self.role = f"slave {broker_id}"
        self._master = address or self._master

    async def _seek(self, epoch: int) -> None:
        self.role = "seeking"

    async def _truncate(self, offset: int) -> None:
        self.store.replica.truncate(offset)

    def _appended(self) -> None:
        dispatch_all(self.store)

    def put(self, number: int) -> int:
        """Append; the offset behind the record."""
        assert self.role == "master"
        result = put(self.store, draft(number))
        assert self.replication.streams.term is not None
        self.replication.streams.term.appended()
        return result.commit_log_offset + result.size

    async def send(self, number: int, timeout_ms: int = 3_000) -> bool:
        """A send that waits for the whole in-sync set: whether it was acknowledged."""
        term = self.replication.streams.term
        if term is None or self.role != "master" or not term.table.is_enough():
            return False
        end = self.put(number)
        future: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        term.wait(-1, end, timeout_ms, lambda ok: future.done() or future.set_result(ok))
        return await future

    async def clean(self, disk_usage_ratio: float = 0.5) -> None:
        """One round of housekeeping, at the hour of deleting."""
        front = self.store.front
        flush_all(self.store)

        def planned() -> int:
            return front.plan(self._now_ms(), hour=4, disk_usage_ratio=disk_usage_ratio)

        start = await self.replication.streams.settle_start(planned)
        if start is not None:
            front.delete_to(start, self._now_ms())

    def log(self) -> bytes:
        return self.store.replica.read(self.store.log.min_offset, self.store.log.max_offset)


def _loop_ms() -> int:
    return int(asyncio.get_running_loop().time() * 1000)


async def until(holds: Callable[[], object], seconds: float = 10.0) -> None:
    async with asyncio.timeout(seconds):
        while not holds():
            await asyncio.sleep(0.01)


@contextlib.asynccontextmanager
async def running(*members: Member) -> AsyncIterator[None]:
    for member in members:
        await member.start()
    try:
        yield
    finally:
        for member in members:
            with contextlib.suppress(EngineError):
                await member.stop()
