"""Requests to the other members of the group, each with a proof that its sender knows the cluster secret.

`DamageMembers` asks them for the bytes of a damaged part of the log, the master first, and reports
skipped records to the master. Only members of the same epoch and term answer, and only with confirmed
bytes: equal offsets hold equal bytes there. A slave without a cluster secret (of an Apache master, for
example) asks its master for the message at that offset, as any client may; it cannot report skips, which
needs the secret. Loop thread only.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import TypeVar

from engine.broker.failover.group_file_io import GroupFile
from engine.broker.failover.group_state import GroupState
from engine.errors import EngineError, NotPermitted, PeerError
from engine.net.requester import Requester
from engine.protocol.bodies.brokers import GroupStatus
from engine.protocol.bodies.routes import BrokerData, ClusterInfo
from engine.protocol.codes import RequestCode, ResponseCode
from engine.protocol.commands import Command
from engine.protocol.headers import brokers as headers
from engine.protocol.headers.pull import ViewMessageRequest
from engine.protocol.signing import PROOF_FIELD, proves, request_proof
from engine.protocol.wire import Header
from engine.store.recovery.record_repair import LogRange

log = logging.getLogger(__name__)

TIMEOUT_MS = 3_000
HAND_OVER_MS = 5_000
_K = TypeVar("_K")
_T = TypeVar("_T")
_NOT_FOUND = (ResponseCode.QUERY_NOT_FOUND, ResponseCode.REQUEST_CODE_NOT_SUPPORTED)


async def ask_all(asked: Mapping[_K, Awaitable[_T]]) -> tuple[dict[_K, _T], dict[_K, Exception]]:
    """The answers, and the errors of the peers that did not answer. Any other exception is raised."""
    results = await asyncio.gather(*asked.values(), return_exceptions=True)
    answers: dict[_K, _T] = {}
    errors: dict[_K, Exception] = {}
    for key, result in zip(asked, results, strict=True):
        if isinstance(result, EngineError | OSError):
            errors[key] = result
        elif isinstance(result, BaseException):
            raise result
        else:
            answers[key] = result
    return answers, errors


def check_proof(secret: bytes | None, request: Command) -> None:
    """Refuse a sender that does not know the secret; without a secret refuse every sender."""
    if secret is None:
        raise NotPermitted("this broker has no cluster secret (signalboxClusterSecretFile)")
    wanted = request_proof(secret, request.code, request.fields, bytes(request.body))
    if not proves(request.fields.get(PROOF_FIELD), wanted):
        raise NotPermitted("the proof of the cluster secret is missing or wrong")


def record_proof(secret: bytes, header: headers.RecordRequest, data: bytes) -> str:
    """The proof in the answer to 30016."""
    return request_proof(secret, RequestCode.SIGNALBOX_GROUP_RECORD, header.encode(), data)


@dataclass(frozen=True, slots=True, repr=False)
class MemberRequests:
    cluster: str
    broker: str
    secret: bytes | None
    requester: Requester
    name_servers: tuple[str, ...] = ()

    async def others_named(self, own_address: str) -> list[str]:
        """From all name servers that answer: one that was just started may not list every broker."""
        answers, errors = await ask_all({server: self._named_by(server) for server in self.name_servers})
        if self.name_servers and not answers:
            raise EngineError("; ".join(map(str, errors.values())))
        return [address for address in dict.fromkeys(chain(*answers.values())) if address != own_address]

    async def _named_by(self, name_server: str) -> list[str]:
        answer = await self._ask(name_server, Command(RequestCode.GET_BROKER_CLUSTER_INFO))
        known = ClusterInfo.decode(answer.body).broker_addr_table.get(self.broker, BrokerData())
        return list(known.broker_addrs.values()) if known.cluster == self.cluster else []

    async def status(self, address: str) -> GroupStatus:
        answer = await self._ask(address, Command(RequestCode.SIGNALBOX_GROUP_STATUS))
        return GroupStatus.decode(answer.body)

    async def count_messages(self, address: str, begin: int, end: int) -> int | None:
        header = headers.GroupStatusRequest(begin, end)
        answer = await self._demand(address, RequestCode.SIGNALBOX_GROUP_STATUS, header)
        return GroupStatus.decode(answer.body).counted_messages

    async def promise(self, address: str, epoch: int, term_id: int) -> GroupStatus:
        header = headers.PromiseRequest(self.cluster, self.broker, epoch, term_id)
        answer = await self._demand(address, RequestCode.SIGNALBOX_GROUP_PROMISE, header)
        return GroupStatus.decode(answer.body)

    async def become_master(self, address: str, epoch: int, term_id: int) -> None:
        header = headers.CrownRequest(self.cluster, self.broker, epoch, term_id)
        await self._demand(address, RequestCode.SIGNALBOX_GROUP_CROWN, header)

    async def follow(self, address: str, epoch: int, term_id: int, master_id: int, master: str) -> None:
        header = headers.FollowRequest(self.cluster, self.broker, epoch, term_id, master_id, master)
        await self._demand(address, RequestCode.SIGNALBOX_GROUP_FOLLOW, header)

    async def hand_over(self, address: str, epoch: int, member_id: int) -> None:
        header = headers.HandOverRequest(
            self.cluster, self.broker, epoch, member_id, secrets.randbits(62), HAND_OVER_MS
        )
        await self._demand(address, RequestCode.SIGNALBOX_GROUP_HAND_OVER, header, HAND_OVER_MS + TIMEOUT_MS)

    async def record(
        self, address: str, epoch: int, term_id: int, commit_log_offset: int, size: int
    ) -> bytes:
        """The bytes that the member has there. Its proof covers them, so no other sender can forge them."""
        nonce = secrets.randbits(62)
        header = headers.RecordRequest(
            self.cluster, self.broker, epoch, term_id, commit_log_offset, size, nonce
        )
        answer = await self._demand(address, RequestCode.SIGNALBOX_GROUP_RECORD, header)
        data = bytes(answer.body)
        wanted = record_proof(self.secret, header, data) if self.secret is not None else ""
        if not proves(answer.fields.get(PROOF_FIELD), wanted):
            raise PeerError(f"{address} did not prove that it knows the cluster secret")
        return data

    async def skips(self, address: str, epoch: int, term_id: int, rows: bytes) -> None:
        """Reports to the master the skips that it does not know."""
        header = headers.SkipsRequest(self.cluster, self.broker, epoch, term_id)
        await self._demand(address, RequestCode.SIGNALBOX_GROUP_SKIPS, header, body=rows)

    async def viewed_record(self, address: str, commit_log_offset: int) -> bytes:
        """The record from a master without our requests: any RocketMQ broker returns the record at an
        offset."""
        fields = ViewMessageRequest(commit_log_offset).encode()
        return bytes((await self._ask(address, Command(RequestCode.VIEW_MESSAGE_BY_ID, fields=fields))).body)

    async def _demand(
        self,
        address: str,
        code: RequestCode,
        header: Header,
        timeout_ms: int = TIMEOUT_MS,
        body: bytes = b"",
    ) -> Command:
        fields = header.encode()
        if self.secret is not None:
            fields[PROOF_FIELD] = request_proof(self.secret, code, fields, body)
        return await self._ask(address, Command(code, fields=fields, body=body), timeout_ms)

    async def _ask(self, address: str, command: Command, timeout_ms: int = TIMEOUT_MS) -> Command:
        answer = await self.requester.request(address, command, timeout_ms)
        if answer.code != 0:
            raise PeerError(answer.remark or f"answered {answer.code}", code=answer.code)
        return answer


def members_to_ask(state: GroupState, member_id: int) -> list[str]:
    """The addresses of the others, the master's first. Pure."""
    others = [number for number in sorted(state.members) if number != member_id]
    others.sort(key=lambda number: number != state.master_id)
    return [state.members[number] for number in others]


def is_final(error: EngineError) -> bool:
    """Whether the member does not have it, rather than being away or in another epoch for now. Pure."""
    return isinstance(error, PeerError) and error.code in _NOT_FOUND


@dataclass(frozen=True, slots=True)
class DamageMembers:
    """`plain_master`: the address of the master, on a slave."""

    member_id: int
    file: GroupFile
    requests: MemberRequests
    plain_master: Callable[[], str | None]

    async def fetch(self, place: LogRange) -> tuple[bytes, bool]:
        """The bytes (empty: none), and whether every member that might have them has answered."""
        if self.requests.secret is None:
            master = self.plain_master()
            return await self._first_good(place, [master] if master else [])
        return await self._first_good(place, members_to_ask(self.file.known, self.member_id))

    async def report_skips(self, rows: bytes) -> None:
        """On a slave: its master may not know that groups have skipped these records. Tried again later."""
        state, master = self.file.known, self.plain_master()
        if self.requests.secret is None or master is None:
            return
        try:
            await self.requests.skips(master, state.epoch, state.term_id, rows)
        except EngineError as error:
            log.info("cannot report skipped records to the master at %s: %s", master, error)

    async def _first_good(self, place: LogRange, addresses: list[str]) -> tuple[bytes, bool]:
        have_all_answered = True
        for address in addresses:
            try:
                data = await self._ask(address, place)
            except PeerError as error:
                log.info(
                    "%s has no copy of commit-log offset %d: %s", address, place.commit_log_offset, error
                )
            except EngineError as error:
                log.info("cannot ask %s for a damaged record: %s", address, error)
                have_all_answered = False
            else:
                if place.accepts(data):
                    return data, True
                log.warning(
                    "%s did not send complete records for %d bytes at commit-log offset %d",
                    address,
                    place.size,
                    place.commit_log_offset,
                )
        return b"", have_all_answered

    async def _ask(self, address: str, place: LogRange) -> bytes:
        if self.requests.secret is None:
            return await self.requests.viewed_record(address, place.commit_log_offset)
        state = self.file.known
        where = place.commit_log_offset, place.size
        return await self.requests.record(address, state.epoch, state.term_id, *where)
