"""The other members over the wire, each demand with a proof that its sender knows the cluster secret."""

from __future__ import annotations

import asyncio
import secrets
from dataclasses import dataclass

from engine.errors import EngineError, NotPermitted, PeerError
from engine.net.requester import Requester
from engine.protocol.bodies.brokers import GroupStatus
from engine.protocol.bodies.routes import BrokerData, ClusterInfo
from engine.protocol.cluster_proof import PROOF_FIELD, proves, request_proof
from engine.protocol.codes import RequestCode
from engine.protocol.commands import Command
from engine.protocol.headers.brokers import (
    CrownRequest,
    FollowRequest,
    GroupStatusRequest,
    HandOverRequest,
    PromiseRequest,
    RecordRequest,
    SkipsRequest,
)
from engine.protocol.headers.pull import ViewMessageRequest
from engine.protocol.wire import Header

TIMEOUT_MS = 3_000
HAND_OVER_MS = 5_000


def check_proof(secret: bytes | None, request: Command) -> None:
    """Refuse whoever does not know the secret; without a secret nobody can."""
    if secret is None:
        raise NotPermitted("this broker has no cluster secret (signalboxClusterSecretFile)")
    wanted = request_proof(secret, request.code, request.fields, bytes(request.body))
    if not proves(request.fields.get(PROOF_FIELD), wanted):
        raise NotPermitted("the proof of the cluster secret is missing or wrong")


def record_proof(secret: bytes, header: RecordRequest, data: bytes) -> str:
    """Of the answer to 30016."""
    return request_proof(secret, RequestCode.SIGNALBOX_GROUP_RECORD, header.encode(), data)


@dataclass(frozen=True, slots=True)
class MemberRequests:
    cluster: str
    broker: str
    secret: bytes | None
    requester: Requester
    name_servers: tuple[str, ...] = ()

    async def others_named(self, own_address: str) -> list[str]:
        """Of all name servers that answer: one that was just started may not have heard of everybody."""
        asked = map(self._named_by, self.name_servers)
        answers = await asyncio.gather(*asked, return_exceptions=True)
        named: dict[str, None] = {}
        for answer in answers:
            if isinstance(answer, EngineError):
                continue
            if isinstance(answer, BaseException):
                raise answer
            named |= dict.fromkeys(answer)
        if self.name_servers and all(isinstance(answer, EngineError) for answer in answers):
            raise EngineError("; ".join(map(str, answers)))
        return [address for address in named if address != own_address]

    async def _named_by(self, name_server: str) -> list[str]:
        answer = await self._ask(name_server, Command(RequestCode.GET_BROKER_CLUSTER_INFO))
        known = ClusterInfo.decode(answer.body).broker_addr_table.get(self.broker, BrokerData())
        return list(known.broker_addrs.values()) if known.cluster == self.cluster else []

    async def status(self, address: str) -> GroupStatus:
        answer = await self._ask(address, Command(RequestCode.SIGNALBOX_GROUP_STATUS))
        return GroupStatus.decode(answer.body)

    async def count_messages(self, address: str, begin: int, end: int) -> int | None:
        header = GroupStatusRequest(begin, end)
        answer = await self._demand(address, RequestCode.SIGNALBOX_GROUP_STATUS, header)
        return GroupStatus.decode(answer.body).counted_messages

    async def promise(self, address: str, epoch: int, reign: int) -> GroupStatus:
        header = PromiseRequest(self.cluster, self.broker, epoch, reign)
        answer = await self._demand(address, RequestCode.SIGNALBOX_GROUP_PROMISE, header)
        return GroupStatus.decode(answer.body)

    async def crown(self, address: str, epoch: int, reign: int) -> None:
        header = CrownRequest(self.cluster, self.broker, epoch, reign)
        await self._demand(address, RequestCode.SIGNALBOX_GROUP_CROWN, header)

    async def follow(self, address: str, epoch: int, reign: int, master_id: int, master: str) -> None:
        header = FollowRequest(self.cluster, self.broker, epoch, reign, master_id, master)
        await self._demand(address, RequestCode.SIGNALBOX_GROUP_FOLLOW, header)

    async def hand_over(self, address: str, epoch: int, member_id: int) -> None:
        header = HandOverRequest(
            self.cluster, self.broker, epoch, member_id, secrets.randbits(62), HAND_OVER_MS
        )
        await self._demand(address, RequestCode.SIGNALBOX_GROUP_HAND_OVER, header, HAND_OVER_MS + TIMEOUT_MS)

    async def record(self, address: str, epoch: int, reign: int, commit_log_offset: int, size: int) -> bytes:
        """What the member has of the log there. Its proof covers the bytes: nobody else's are believed."""
        nonce = secrets.randbits(62)
        header = RecordRequest(self.cluster, self.broker, epoch, reign, commit_log_offset, size, nonce)
        code = RequestCode.SIGNALBOX_GROUP_RECORD
        answer = await self._demand(address, code, header)
        data = bytes(answer.body)
        wanted = record_proof(self.secret, header, data) if self.secret is not None else ""
        if not proves(answer.fields.get(PROOF_FIELD), wanted):
            raise PeerError(f"{address} did not prove that it knows the cluster secret")
        return data

    async def skips(self, address: str, epoch: int, reign: int, rows: bytes) -> None:
        """Tells the master of skips that it does not know."""
        header = SkipsRequest(self.cluster, self.broker, epoch, reign)
        await self._demand(address, RequestCode.SIGNALBOX_GROUP_SKIPS, header, body=rows)

    async def viewed_record(self, address: str, commit_log_offset: int) -> bytes:
        """The same of a master without our requests: any RocketMQ broker shows the record at an offset."""
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
