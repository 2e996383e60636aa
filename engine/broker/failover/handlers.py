"""A broker group's own requests: 30010 status, 30011 to 30014 between members (promise, become master,
follow, hand over), 30015 promotion for operators, 30016 bytes of the log that the asking member has
damaged, and 30017 skipped damaged records that the master does not know.

Requests between members need a proof of the cluster secret. The answer to 30016 carries a proof, too: it
holds complete records only, checked before they are sent, and only what is on disk and confirmed here.
"""

from __future__ import annotations

from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

from msgspec.structs import replace

from engine.broker.damage.skip_exchange import SkipExchange
from engine.broker.failover.member_requests_io import check_proof, record_proof
from engine.broker.failover.member_task import GroupMember
from engine.errors import NotFound, NotPermitted, Refused
from engine.net.connection import Connection
from engine.net.outcomes import ColdRead, Handler, Outcome, Reply, Work
from engine.protocol.codes import RequestCode, ResponseCode
from engine.protocol.commands import Command
from engine.protocol.headers import brokers as headers
from engine.protocol.signing import PROOF_FIELD
from engine.protocol.wire import Body
from engine.store.recovery.record_repair import RecordRepair

_H = TypeVar(
    "_H",
    headers.PromiseRequest,
    headers.FollowRequest,
    headers.HandOverRequest,
    headers.RecordRequest,
    headers.SkipsRequest,
)


@dataclass(eq=False, repr=False)
class BrokerGroupHandlers:
    cluster: str
    broker: str
    secret: bytes | None
    repairs: RecordRepair
    member: GroupMember | None
    exchange: SkipExchange

    def routes(self) -> dict[int, Handler]:
        return {
            RequestCode.SIGNALBOX_GROUP_STATUS: self.status,
            RequestCode.SIGNALBOX_GROUP_PROMISE: self.promise,
            RequestCode.SIGNALBOX_GROUP_CROWN: self.become_master,
            RequestCode.SIGNALBOX_GROUP_FOLLOW: self.follow,
            RequestCode.SIGNALBOX_GROUP_HAND_OVER: self.hand_over,
            RequestCode.SIGNALBOX_GROUP_PROMOTE: self.promote,
            RequestCode.SIGNALBOX_GROUP_RECORD: self.record,
            RequestCode.SIGNALBOX_GROUP_SKIPS: self.skips,
        }

    def status(self, request: Command, client: Connection) -> Outcome:
        member, header = self._in_group(), headers.GroupStatusRequest.decode(request.fields)
        if header.count_from is None or header.count_to is None:
            return Reply(body=member.status().encode())
        check_proof(self.secret, request)  # counting is too expensive for unknown senders
        begin, end = header.count_from, header.count_to

        async def run() -> Reply:
            counted = await member.count_messages(begin, end)
            return Reply(body=replace(member.status(), counted_messages=counted).encode())

        return Work(run)

    def promise(self, request: Command, client: Connection) -> Outcome:
        header = self._checked(request, headers.PromiseRequest.decode(request.fields))
        return self._work(self._in_group().promise(header.epoch, header.reign))

    def become_master(self, request: Command, client: Connection) -> Outcome:
        header = self._checked(request, headers.CrownRequest.decode(request.fields))
        return self._work(self._in_group().become_master(header.epoch, header.reign))

    def follow(self, request: Command, client: Connection) -> Outcome:
        header = self._checked(request, headers.FollowRequest.decode(request.fields))
        master = header.master_id, header.master_address
        return self._work(self._in_group().follow(header.epoch, header.reign, *master))

    def hand_over(self, request: Command, client: Connection) -> Outcome:
        header = self._checked(request, headers.HandOverRequest.decode(request.fields))
        asked = header.epoch, header.member_id, header.timeout_millis, header.nonce
        return self._work(self._in_group().hand_over(*asked))

    def promote(self, request: Command, client: Connection) -> Outcome:
        header = headers.PromoteRequest.decode(request.fields)
        if header.broker_name != self.broker:
            raise Refused(f"this is group {self.broker}, not {header.broker_name}")
        member = self._in_group()
        return self._work(member.promote(header.epoch, header.wanted, is_unclean=header.unclean))

    def record(self, request: Command, client: Connection) -> Outcome:
        header = self._checked(request, headers.RecordRequest.decode(request.fields))
        self._in_epoch(header)
        place = self.repairs.locate(header.commit_log_offset, header.size)
        if place is None:
            raise _no_records(header)
        return ColdRead(place.read_whole, lambda data: self._answer(header, data))

    def _answer(self, header: headers.RecordRequest, data: bytes) -> Reply:
        if not data:
            raise _no_records(header)
        assert self.secret is not None  # the request was proved with it
        return Reply(fields={PROOF_FIELD: record_proof(self.secret, header, data)}, body=data)

    def skips(self, request: Command, client: Connection) -> Outcome:
        header = self._checked(request, headers.SkipsRequest.decode(request.fields))
        if self._in_epoch(header).streams.term is None:
            raise Refused("this member is not the master of its group")
        self.exchange.take_from_slave(bytes(request.body))
        return Reply()

    @staticmethod
    def _work(change: Coroutine[Any, Any, Body | None]) -> Work:
        async def run() -> Reply:
            answer = await change
            return Reply() if answer is None else Reply(body=answer.encode())

        return Work(run)

    def _checked(self, request: Command, header: _H) -> _H:
        check_proof(self.secret, request)
        if (header.cluster_name, header.broker_name) != (self.cluster, self.broker):
            raise NotPermitted(f"this is group {self.broker} of cluster {self.cluster}")
        return header

    def _in_epoch(self, header: headers.RecordRequest | headers.SkipsRequest) -> GroupMember:
        member = self.member
        if member is None or member.epoch_and_term_id != (header.epoch, header.reign):
            raise Refused(f"this member is in another epoch than {header.epoch}")
        return member

    def _in_group(self) -> GroupMember:
        if self.member is None:
            raise Refused("this broker is in no group: it has neither a cluster secret nor slaves")
        return self.member


def _no_records(header: headers.RecordRequest) -> NotFound:
    text = f"no complete records in {header.size} bytes at commit-log offset {header.commit_log_offset}"
    return NotFound(text, code=ResponseCode.QUERY_NOT_FOUND)
