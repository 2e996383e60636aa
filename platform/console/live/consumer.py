"""One websocket: subscriptions in, states and changes out.

    → {"type": "subscribe", "channel": "groups/orders?names=billing"}
    ← {"type": "state", "channel": …, "seq": 1, "sampled_at": …, "data": {name: row}, "reason": "subscribed"}
    ← {"type": "change", "channel": …, "seq": 2, "sampled_at": …, "data": {name: changed fields or null}}
    → {"type": "unsubscribe" | "resync", "channel": …}      → {"type": "ping"}  ← {"type": "pong"}
    ← {"type": "error", "channel": …, "code": …, "detail": …}

Rights are looked at when a channel is subscribed to, every minute, and whenever they change; whoever lost
them is sent away. One task sends all states and changes of a socket, in order.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Coroutine
from typing import Any

import orjson
from channels.db import database_sync_to_async
from channels.exceptions import StopConsumer
from channels.generic.websocket import AsyncWebsocketConsumer
from django.db import DatabaseError
from django.utils import timezone

from console.core.models.people import Role
from console.core.problems import Problem
from console.core.rendering import JsonRenderer
from console.live.admission import (
    Guest,
    bearer_of,
    cookie_of,
    guest_by_session,
    guest_by_token,
    headers_of,
    is_own_origin,
)
from console.live.allowance import Allowance
from console.live.channels import Channel, may_subscribe, parse
from console.live.feeds import Feed
from console.live.hub import hub
from console.live.states import Viewer, check_exists, read_state

log = logging.getLogger(__name__)

SIGNED_OUT, NO_RIGHTS, TOO_MANY, TOO_LARGE, TOO_OFTEN = 4401, 4403, 4409, 4413, 4429
FAILED = 1011
LARGEST_BYTES = 65_536
MOST_SOCKETS = 20
"""Of one person, in one process."""
MOST_CHANNELS = 50
LOOK_EVERY_S = 60.0
"""The rights of an open socket, should nobody have said that they changed."""
REREAD_EVERY_S = 10.0
"""Channels that are not numbered: what an event that got lost would have said."""
SLOW_S = 3.0
"""A message that takes this long: what has come up meanwhile is dropped and read anew. Readers that take none
for longer are cut off by the server itself (bounded_protocol.py)."""
_NOT_NUMBERED = frozenset(("operation", "operations", "alerts", "jobs", "reports", "routing"))


class LiveConsumer(AsyncWebsocketConsumer):
    channel_layer_alias = "none"
    """The hub listens for all sockets: none of them needs a channel of its own."""
    guest: Guest

    def __init__(self, *, look_every_s: float = LOOK_EVERY_S) -> None:
        super().__init__()
        self._look_every_s = look_every_s

    # -- coming and going -----------------------------------------------------------------------------------

    async def connect(self) -> None:
        self._feeds: dict[str, Feed] = {}
        self._listeners: dict[str, Any] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._wake = asyncio.Event()
        self._look = asyncio.Event()
        self._is_counted = False
        self._allowance = Allowance(20, 60)
        headers = headers_of(self.scope)
        self._secret, self._session_key = bearer_of(headers), cookie_of(headers)
        guest = None
        if self._secret is not None or is_own_origin(headers):
            guest = await database_sync_to_async(self._read_guest)()
        if guest is None:
            # Before it is accepted: the handshake is answered 403.
            await self.close()
            return
        self.guest = guest
        await self.accept()
        if hub().sockets[guest.user_id] >= MOST_SOCKETS:
            await self.close(TOO_MANY)
            return
        hub().sockets[guest.user_id] += 1
        self._is_counted = True
        await hub().listen(f"people/{guest.user_id}", self._rights_changed)
        self._tasks = [
            asyncio.ensure_future(self._guard(self._send_forever())),
            asyncio.ensure_future(self._guard(self._look_forever())),
        ]

    async def disconnect(self, code: int) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for text in list(self._feeds):
            await self._drop(text)
        if self._is_counted:
            hub().sockets[self.guest.user_id] -= 1
            await hub().leave(f"people/{self.guest.user_id}", self._rights_changed)
        raise StopConsumer

    async def _guard(self, forever: Coroutine[Any, Any, None]) -> None:
        """A socket that nobody sends to, or whose rights nobody looks at, must not stay open."""
        try:
            await forever
        except Exception as error:
            # What a send raises when the other side has gone is an OSError: that is no failure of ours.
            if not isinstance(error, OSError):
                log.exception("the socket of %s failed", self.guest.username)
            with contextlib.suppress(OSError):
                await self.close(FAILED)

    def _read_guest(self) -> Guest | None:
        if self._secret is not None:
            return guest_by_token(self._secret, timezone.now())
        return None if self._session_key is None else guest_by_session(self._session_key)

    def _rights_changed(self, payload: dict[str, Any], is_gap: bool) -> None:
        self._look.set()

    async def _look_forever(self) -> None:
        while True:
            try:
                async with asyncio.timeout(self._look_every_s):
                    await self._look.wait()
            except TimeoutError:
                pass
            self._look.clear()
            guest = await database_sync_to_async(self._read_guest)()
            if guest is None:
                await self.close(SIGNED_OUT)
                return
            if guest.grants != self.guest.grants:
                self.guest = guest
                if not all(may_subscribe(guest.grants, feed.channel) for feed in self._feeds.values()):
                    await self.close(NO_RIGHTS)
                    return
                for feed in self._feeds.values():
                    feed.state_reason = "rights"
                    feed.rereads = self._rereads(feed.channel)
                self._wake.set()

    # -- what the client says -------------------------------------------------------------------------------

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        if text_data is None or len(text_data.encode()) > LARGEST_BYTES:
            await self.close(TOO_LARGE)
            return
        if not self._allowance.admits(time.monotonic()):
            await self.close(TOO_OFTEN)
            return
        try:
            said = orjson.loads(text_data)
        except orjson.JSONDecodeError:
            said = None
        # Whoever has gone meanwhile: word of that comes next, and is what ends everything in order.
        with contextlib.suppress(OSError):
            await self._obey(said if isinstance(said, dict) else {})

    async def _obey(self, said: dict[str, Any]) -> None:
        kind, text = said.get("type"), said.get("channel")
        if kind == "ping":
            await self._say({"type": "pong"})
        elif kind == "subscribe":
            await self._subscribe(text)
        elif kind == "unsubscribe" and isinstance(text, str):
            await self._drop(text)
            await self._say({"type": "unsubscribed", "channel": text})
        elif kind == "resync" and isinstance(text, str) and text in self._feeds:
            self._feeds[text].state_reason = "asked"
            self._wake.set()
        else:
            about = {"channel": text} if isinstance(text, str) else {}
            await self._say({"type": "error", **about, "code": "invalid", "detail": "this is not understood"})

    async def _subscribe(self, text: Any) -> None:
        try:
            channel = parse(text)
            if text in self._feeds:
                self._feeds[text].state_reason = "asked"
            else:
                await self._add(channel)
            self._wake.set()
        except Problem as problem:
            await self._say(
                {"type": "error", "channel": text, "code": problem.code, "detail": problem.detail}
            )

    async def _add(self, channel: Channel) -> None:
        if len(self._feeds) >= MOST_CHANNELS:
            raise Problem("too_many", f"{MOST_CHANNELS} channels at most", 409)
        if not may_subscribe(self.guest.grants, channel):
            # As for REST: what somebody may not see is not there.
            raise Problem("not_found", f"there is no channel {channel.text[:80]!r} for you", 404)
        await database_sync_to_async(check_exists)(channel)
        feed = Feed(channel, rereads=self._rereads(channel))

        def listen(payload: dict[str, Any], is_gap: bool) -> None:
            feed.offer(payload)
            if is_gap:
                feed.state_reason = feed.state_reason or "gap"
            self._wake.set()

        self._feeds[channel.text], self._listeners[channel.text] = feed, listen
        await hub().listen(channel.event_channel, listen)
        await hub().watch(channel)

    def _rereads(self, channel: Channel) -> bool:
        if channel.kind == "toplag":
            return not self.guest.grants.may(Role.VIEWER, channel.cluster)
        return channel.kind == "routing"

    async def _drop(self, text: str) -> None:
        feed = self._feeds.pop(text, None)
        if feed is not None:
            await hub().leave(feed.channel.event_channel, self._listeners.pop(text))
            hub().unwatch(feed.channel)

    # -- what the client is told ----------------------------------------------------------------------------

    async def _send_forever(self) -> None:
        reread_at = time.monotonic() + REREAD_EVERY_S
        while True:
            now_s = time.monotonic()
            if now_s >= reread_at:
                reread_at = now_s + REREAD_EVERY_S
                for feed in self._feeds.values():
                    feed.is_stale = feed.is_stale or feed.channel.kind in _NOT_NUMBERED
            for feed in list(self._feeds.values()):
                if feed.due_in_s(now_s) == 0:
                    await self._flush(feed)
            waits = [feed.due_in_s(time.monotonic()) for feed in self._feeds.values()]
            await self._sleep(min([wait for wait in waits if wait is not None] + [reread_at - now_s]))

    async def _sleep(self, seconds: float) -> None:
        self._wake.clear()
        if seconds <= 0:
            return
        try:
            async with asyncio.timeout(seconds):
                await self._wake.wait()
        except TimeoutError:
            pass
        # Several events of one moment make one message.
        await asyncio.sleep(0.02)

    async def _flush(self, feed: Feed) -> None:
        message = feed.change(time.monotonic()) if not (feed.state_reason or feed.is_stale) else None
        if feed.state_reason or feed.is_stale:
            feed.begin_reading()
            try:
                viewer = Viewer(self.guest.user_id, self.guest.grants)
                rows, sampled_at = await database_sync_to_async(read_state)(feed.channel, viewer)
            except Problem as problem:
                await self._give_up(feed, problem)
                return
            except DatabaseError:
                log.exception("the state of %s was not read", feed.channel.text)
                feed.state_reason = feed.state_reason or "gap"
                await asyncio.sleep(1)
                return
            now_s = time.monotonic()
            build = feed.state if feed.state_reason else feed.reread
            message = build(rows, sampled_at, now_s)
        if message is not None:
            await self._say(message)

    async def _give_up(self, feed: Feed, problem: Problem) -> None:
        """What it is about is not there (any more)."""
        await self._drop(feed.channel.text)
        about = {"channel": feed.channel.text, "code": problem.code, "detail": problem.detail}
        await self._say({"type": "error", **about})

    async def _say(self, message: dict[str, Any]) -> None:
        began = time.monotonic()
        await self.send(text_data=JsonRenderer().render(message).decode())
        if time.monotonic() - began > SLOW_S:
            for feed in self._feeds.values():
                feed.state_reason = feed.state_reason or "slow"
