"""Events of this process, received once and handed to every subscription that wants them.

A channel of the layer per socket would decode each message once per socket; here there is one for all. The
hub also finds gaps (the collector numbers its messages), tells the collector what is watched, and keeps the
count of sockets per person. One per event loop; loop thread only.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from channels.layers import get_channel_layer
from django.conf import settings
from redis.asyncio import Redis
from redis.exceptions import RedisError

from console.core import watching
from console.core.events import group_name
from console.live.channels import Channel

log = logging.getLogger(__name__)

TOP_LAG = "top-lag"
Listener = Callable[[dict[str, Any], bool], None]
"""Takes a payload, and whether one before it was missed."""


class Hub:
    def __init__(self) -> None:
        self._listeners: defaultdict[str, set[Listener]] = defaultdict(set)
        self._seen: dict[str, tuple[str, int]] = {}
        self._watched: Counter[Channel] = Counter()
        self.sockets: Counter[int] = Counter()
        self._redis = Redis.from_url(settings.REDIS_URL, **settings.REDIS_LIMITS)
        self._name: str | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._starting = asyncio.Lock()

    async def listen(self, channel: str, listener: Listener) -> None:
        await self._start()
        is_first = not self._listeners[channel]
        self._listeners[channel].add(listener)
        if is_first:
            await get_channel_layer().group_add(group_name(channel), self._name)

    async def leave(self, channel: str, listener: Listener) -> None:
        listeners = self._listeners.get(channel)
        if listeners is None:
            return
        listeners.discard(listener)
        if not listeners:
            del self._listeners[channel]
            self._seen.pop(channel, None)
            await get_channel_layer().group_discard(group_name(channel), self._name)

    async def watch(self, channel: Channel) -> None:
        self._watched[channel] += 1
        await self._note([channel])

    def unwatch(self, channel: Channel) -> None:
        self._watched[channel] -= 1
        if self._watched[channel] <= 0:
            del self._watched[channel]

    def is_gap(self, channel: str, payload: dict[str, Any]) -> bool:
        """Whether a message of the collector was missed; others are not numbered."""
        if "seq" not in payload:
            return False
        now = (str(payload["run"]), int(payload["seq"]))
        before = self._seen.get(channel)
        self._seen[channel] = now
        return before is not None and now != (before[0], before[1] + 1)

    # -- tasks ----------------------------------------------------------------------------------------------

    async def _start(self) -> None:
        async with self._starting:
            if self._name is None:
                self._name = await get_channel_layer().new_channel("hub.")
                self._tasks = [asyncio.ensure_future(self._receive()), asyncio.ensure_future(self._repeat())]

    async def _receive(self) -> None:
        layer = get_channel_layer()
        while True:
            message = await layer.receive(self._name)
            try:
                self._hand_out(message["channel"], message["payload"])
            except Exception:
                # One odd event must not end all live pages of this process.
                log.exception("an event could not be handed out")

    def _hand_out(self, channel: str, payload: dict[str, Any]) -> None:
        is_gap = self.is_gap(channel, payload)
        for listener in list(self._listeners.get(channel, ())):
            listener(payload, is_gap)

    async def _repeat(self) -> None:
        while True:
            await asyncio.sleep(watching.KEPT_S / 3)
            await self._note(list(self._watched))

    async def _note(self, channels: list[Channel]) -> None:
        by_cluster: defaultdict[str, set[tuple[str, str]]] = defaultdict(set)
        for channel in channels:
            by_cluster[channel.cluster] |= set(watched_objects(channel))
        try:
            for cluster, objects in by_cluster.items():
                await watching.note(self._redis, cluster, objects, time.time())
        except (RedisError, OSError) as error:
            log.warning("the collector was not told what is watched: %s", error)


def watched_objects(channel: Channel) -> list[tuple[str, str]]:
    if channel.kind == "groups":
        return [(watching.GROUP, name) for name in channel.names]
    if channel.kind == "topics":
        return [(watching.TOPIC, name) for name in channel.names]
    if channel.kind == "toplag":
        return [(watching.CLUSTER, TOP_LAG)]
    return [(watching.CLUSTER, channel.kind)] if channel.kind in ("cluster", "routing") else []


_hubs: WeakKeyDictionary[asyncio.AbstractEventLoop, Hub] = WeakKeyDictionary()


def hub() -> Hub:
    loop = asyncio.get_running_loop()
    if loop not in _hubs:
        _hubs[loop] = Hub()
    return _hubs[loop]
