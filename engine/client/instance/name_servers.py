"""Questions to the name servers: any one of them will do, so the next is asked when one does not answer.

Name servers do not talk to each other and may disagree for a while; whichever answers is believed. A refusal
(code other than 0) is an answer. Loop thread only.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from engine.client.instance.answers import insist
from engine.errors import PeerTimeout, PeerUnreachable
from engine.net.requester import Requester
from engine.protocol.bodies.routes import TopicRouteData
from engine.protocol.codes import RequestCode, ResponseCode
from engine.protocol.commands import Command
from engine.protocol.headers.namesrv import GetRouteInfoRequest

log = logging.getLogger(__name__)


class NameServers:
    """`request` asks one, beginning with the one that answered last; `addresses` are all of them."""

    def __init__(self, addresses: Sequence[str], requester: Requester, timeout_ms: int) -> None:
        self.addresses = tuple(addresses)
        self._requester = requester
        self._timeout_ms = timeout_ms
        self._current = 0

    async def request(self, command: Command) -> Command:
        failures: list[str] = []
        for _ in self.addresses:
            address = self.addresses[self._current]
            try:
                return await self._requester.request(address, command, self._timeout_ms)
            except (PeerUnreachable, PeerTimeout) as error:
                failures.append(error.text)
                self._current = (self._current + 1) % len(self.addresses)
        raise PeerUnreachable("no name server answers: " + "; ".join(failures))

    async def route(self, topic: str) -> TopicRouteData | None:
        """Where the topic lives; None when no broker has registered it."""
        header = GetRouteInfoRequest(topic, accept_standard_json_only=True)
        answer = await self.request(Command(RequestCode.GET_ROUTEINFO_BY_TOPIC, fields=header.encode()))
        if answer.code == ResponseCode.TOPIC_NOT_EXIST:
            return None
        return TopicRouteData.decode(insist(answer).body)
