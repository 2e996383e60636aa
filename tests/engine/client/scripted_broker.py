"""A name server and broker in one, in this process, whose answers a test writes itself.

For what a real broker cannot be made to do: stay silent, refuse once, answer late, ask the client.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Self

from engine.net.connection import Connection
from engine.net.flow import ConnectionLimits
from engine.net.outcomes import Reply
from engine.net.server import Server, listen
from engine.protocol.bodies.clients import HeartbeatData
from engine.protocol.bodies.groups import GetConsumerListByGroupResponseBody
from engine.protocol.bodies.routes import BrokerData, QueueData, TopicRouteData
from engine.protocol.codes import RequestCode
from engine.protocol.commands import Command, encode_reply
from engine.protocol.headers.send import SendMessageResponse

Answer = Callable[[Command], Reply | None]
STORED = Reply(fields=SendMessageResponse("0" * 32, 0, 41).encode())


class ScriptedBroker:
    """`answers[code]` decides, None means silence; routes, heartbeats and members are answered anyway."""

    def __init__(self) -> None:
        self.requests: list[Command] = []
        self.answers: dict[int, Answer] = {}
        self.address = ""
        self._server: Server | None = None
        self.client_ids: tuple[str, ...] = ()
        self.heartbeat_from: Connection | None = None

    async def __aenter__(self) -> Self:
        self._server = Server(asyncio.get_running_loop(), self._serve, ConnectionLimits())
        host, port = self._server.add_listener(listen("127.0.0.1", 0, 100))
        self.address = f"{host}:{port}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        for connection in list(self._server.connections):
            connection.abort()
        await self._server.close()

    def count(self, code: int) -> int:
        return sum(request.code == code for request in self.requests)

    def _serve(self, request: Command, connection: Connection) -> None:
        self.requests.append(request)
        answer = self.answers.get(request.code, self._usual)
        reply = answer(request)
        if request.code == RequestCode.HEART_BEAT:
            self.heartbeat_from = connection
            self.client_ids = (HeartbeatData.decode(request.body).client_id,)
        if reply is not None and not request.is_oneway:
            connection.send(encode_reply(request, reply))

    def _usual(self, request: Command) -> Reply | None:
        if request.code == RequestCode.GET_ROUTEINFO_BY_TOPIC:
            brokers = (BrokerData("cluster", "scripted", {0: self.address}),)
            return Reply(body=TopicRouteData((QueueData("scripted", 1, 1, 6),), brokers).encode(True))
        if request.code == RequestCode.GET_CONSUMER_LIST_BY_GROUP:
            return Reply(body=GetConsumerListByGroupResponseBody(self.client_ids).encode())
        return Reply()
