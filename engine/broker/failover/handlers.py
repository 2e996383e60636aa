"""A broker group's own requests (30010 to 30015): status for everybody, promises and crowns between members,
promotion for operators. What members ask of each other needs a proof of the cluster secret."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, TypeVar

from msgspec.structs import replace

from engine.broker.failover.member_requests_io import check_proof
from engine.broker.failover.member_task import Replication
from engine.errors import NotPermitted, Refused
from engine.net.connection import Connection
from engine.net.outcomes import Handler, Outcome, Reply, Work
from engine.protocol.codes import RequestCode
from engine.protocol.commands import Command
from engine.protocol.headers.brokers import (
    CrownRequest,
    FollowRequest,
    GroupStatusRequest,
    HandOverRequest,
    PromiseRequest,
    PromoteRequest,
)

_H = TypeVar("_H", PromiseRequest, FollowRequest, HandOverRequest)


class BrokerGroupHandlers:
    def __init__(
        self,
        cluster: str,
        broker: str,
        secret: bytes | None,
        replication: Replication | None,
    ) -> None:
        self._cluster = cluster
        self._broker = broker
        self._secret = secret
        self._replication = replication

    def routes(self) -> dict[int, Handler]:
        return {
            RequestCode.SIGNALBOX_GROUP_STATUS: self.status,
            RequestCode.SIGNALBOX_GROUP_PROMISE: self.promise,
            RequestCode.SIGNALBOX_GROUP_CROWN: self.crown,
            RequestCode.SIGNALBOX_GROUP_FOLLOW: self.follow,
            RequestCode.SIGNALBOX_GROUP_HAND_OVER: self.hand_over,
            RequestCode.SIGNALBOX_GROUP_PROMOTE: self.promote,
        }

    def status(self, request: Command, client: Connection) -> Outcome:
        group, header = self._group(), GroupStatusRequest.decode(request.fields)
        if header.count_from is None or header.count_to is None:
            return Reply(body=group.status().encode())
        check_proof(self._secret, request)  # counting costs more than a stranger may ask for
        begin, end = header.count_from, header.count_to

        async def run() -> Reply:
            counted = await group.count_messages(begin, end)
            return Reply(body=replace(group.status(), counted_messages=counted).encode())

        return Work(run)

    def promise(self, request: Command, client: Connection) -> Outcome:
        header = self._checked(request, PromiseRequest.decode(request.fields))
        group = self._group()

        async def run() -> Reply:
            return Reply(body=(await group.promise(header.epoch, header.reign)).encode())

        return Work(run)

    def crown(self, request: Command, client: Connection) -> Outcome:
        header = self._checked(request, CrownRequest.decode(request.fields))
        return self._do(self._group().crown(header.epoch, header.reign))

    def follow(self, request: Command, client: Connection) -> Outcome:
        header = self._checked(request, FollowRequest.decode(request.fields))
        master = header.master_id, header.master_address
        return self._do(self._group().follow(header.epoch, header.reign, *master))

    def hand_over(self, request: Command, client: Connection) -> Outcome:
        header = self._checked(request, HandOverRequest.decode(request.fields))
        asked = header.epoch, header.member_id, header.timeout_millis, header.nonce
        return self._do(self._group().hand_over(*asked))

    def promote(self, request: Command, client: Connection) -> Outcome:
        header = PromoteRequest.decode(request.fields)
        if header.broker_name != self._broker:
            raise Refused(f"this is group {self._broker}, not {header.broker_name}")
        group = self._group()

        async def run() -> Reply:
            answer = await group.promote(header.epoch, header.wanted, is_unclean=header.unclean)
            return Reply(body=answer.encode())

        return Work(run)

    def _do(self, change: Coroutine[Any, Any, None]) -> Work:
        async def run() -> Reply:
            await change
            return Reply()

        return Work(run)

    def _checked(self, request: Command, header: _H) -> _H:
        check_proof(self._secret, request)
        if (header.cluster_name, header.broker_name) != (self._cluster, self._broker):
            raise NotPermitted(f"this is group {self._broker} of cluster {self._cluster}")
        return header

    def _group(self) -> Replication:
        if self._replication is None:
            raise Refused("this broker is in no group: it has neither a cluster secret nor slaves")
        return self._replication
