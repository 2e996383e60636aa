"""What happened, told to open browsers: apps publish, console/live delivers. After the commit, never before.

A channel is a path such as `cluster/orders`, `groups/orders`, `operations/orders`. The channel layer may lose
a message; whoever listens counts sequence numbers and reads again (console/live).
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from typing import Any

from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from django.db import transaction
from redis.exceptions import RedisError

log = logging.getLogger(__name__)

_SEND_S = 3.0
"""A Redis that hangs holds up nobody's request for longer."""


def group_name(channel: str) -> str:
    """Channel layers allow few characters in a name, and few of them."""
    return "live." + hashlib.sha256(channel.encode()).hexdigest()[:40]


def message(channel: str, payload: dict[str, Any]) -> dict[str, Any]:
    return {"type": "live.event", "channel": channel, "payload": payload}


def publish(channel: str, payload: dict[str, Any]) -> None:
    """From synchronous code; on commit when a transaction is open."""
    transaction.on_commit(lambda: _send(channel, payload), robust=True)


async def publish_now(channel: str, payload: dict[str, Any]) -> None:
    """From the collector's loop, which has nothing to commit."""
    try:
        async with asyncio.timeout(_SEND_S):
            await get_channel_layer().group_send(group_name(channel), message(channel, payload))
    except (OSError, RedisError) as error:
        # Redis is away: browsers poll, and nothing that counts is lost.
        log.warning("event on %s was not sent: %s", channel, error or "Redis does not answer")


def _send(channel: str, payload: dict[str, Any]) -> None:
    async_to_sync(publish_now)(channel, payload)
