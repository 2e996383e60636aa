"""PopConsumer: `receive` messages, `ack` each when it is consumed, or let its invisible time pass.

A message that is not acknowledged within its invisible time is redelivered to any member, with
`reconsume_times` one higher. No queues are shared out: all members of a group pop all queues, so a group may
have more members than queues. Works with RocketMQ 5 and ours. Loop thread only.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from typing import Unpack

from engine.client.consuming.group_consumer import GroupConsumer
from engine.client.instance.routes import master_addresses
from engine.client.options import ClientArguments, PopOptions
from engine.client.pop.pop_requests import ALL_QUEUES, MOST, PoppedMessage, Pops
from engine.errors import BadInput
from engine.protocol.bodies.basics import MessageQueue
from engine.protocol.bodies.clients import ConsumeType

_TURN_MS = 1_000
"""With several brokers or topics, how long a receive waits at one of them before it pops from all again."""

Target = tuple[str, str]
"""(topic, broker name)"""


class PopConsumer(GroupConsumer):
    """Pops messages for a consumer group.

    >>> async def main() -> None:
    ...     async with Producer("shop", namesrv=NAMESRV) as producer:
    ...         await producer.send(Message("hampers", b"a hamper"))
    ...     async with PopConsumer("porters", namesrv=NAMESRV) as consumer:
    ...         consumer.subscribe("hampers")
    ...         for message in await consumer.receive(wait_ms=10_000):
    ...             print(message.body)
    ...             await consumer.ack(message)
    >>> asyncio.run(main())
    b'a hamper'
    """

    def __init__(
        self,
        group: str,
        *,
        options: PopOptions | None = None,
        **arguments: Unpack[ClientArguments],
    ) -> None:
        self.options = options or PopOptions()
        super().__init__(group, ConsumeType.CONSUME_POP, self.options.from_where, **arguments)
        self._pops = Pops(self.instance, group, self.options.from_where)
        self._turns = itertools.count()

    # -- life -----------------------------------------------------------------------------------------------

    async def start(self) -> None:
        await super().start()
        self.instance.join_consumer_group(self)
        await self.instance.heartbeat()

    async def close(self) -> None:
        """Leave the group. The broker redelivers what was received and not acknowledged."""
        await self.instance.leave_consumer_group(self)
        await super().close()

    # -- receiving ------------------------------------------------------------------------------------------

    async def receive(
        self, max_messages: int = MOST, *, invisible_ms: int | None = None, wait_ms: int | None = None
    ) -> list[PoppedMessage]:
        """At least one message, or none when none came in time."""
        if not self.subscriptions:
            raise BadInput(f"the consumer of group {self.group} subscribes to nothing")
        count = min(max(1, max_messages), MOST)
        hidden_ms = self.options.invisible_ms if invisible_ms is None else invisible_ms
        deadline = time.monotonic() + (self.options.wait_ms if wait_ms is None else wait_ms) / 1000
        while True:
            targets = await self._targets()
            left_ms = int((deadline - time.monotonic()) * 1000)
            if len(targets) > 1 or left_ms <= 0:
                for target in targets:
                    messages = await self._pop(target, count, hidden_ms, 0)
                    if messages:
                        return messages
            if left_ms <= 0:
                return []
            if targets:
                turn_ms = left_ms if len(targets) == 1 else min(left_ms, _TURN_MS)
                messages = await self._pop(targets[0], count, hidden_ms, turn_ms)
                if messages:
                    return messages
            else:
                # The topic has no route yet; brokers register new topics within moments.
                await asyncio.sleep(min(left_ms, _TURN_MS) / 1000)

    async def _targets(self) -> list[Target]:
        """All brokers and topics to pop from, another one first each time."""
        targets: list[Target] = []
        for topic in self.subscriptions:
            route = await self.instance.routes.get(topic)
            if route is not None:
                readable = {data.broker_name for data in route.queue_datas if data.is_readable}
                targets += [(topic, name) for name in sorted(readable & master_addresses(route).keys())]
        turn = next(self._turns) % len(targets) if targets else 0
        return targets[turn:] + targets[:turn]

    async def _pop(self, target: Target, count: int, invisible_ms: int, poll_ms: int) -> list[PoppedMessage]:
        topic, broker_name = target
        wanted = self.subscriptions.get(topic)
        if wanted is None:
            return []
        queue = MessageQueue(topic, broker_name, ALL_QUEUES)
        return await self._pops.pop(
            queue, wanted, count, invisible_ms=invisible_ms, poll_ms=poll_ms, order=self.options.order
        )

    # -- acknowledging --------------------------------------------------------------------------------------

    async def ack(self, *messages: PoppedMessage) -> None:
        """These are consumed and not redelivered. After their invisible time it may be too late for that."""
        await self._pops.ack(*messages)

    async def change_invisible(self, message: PoppedMessage, invisible_ms: int) -> None:
        """The message stays invisible for this long from now on. PeerError when it is not ours any more."""
        await self._pops.change_invisible(message, invisible_ms)
