"""Which objects somebody has on a screen: websockets say so, the collector looks more often at them.

In Redis, with an end: a set per cluster whose scores are the times at which an entry stops counting. Whoever
watches says so again before that; a console that dies is forgotten by itself.
"""

from __future__ import annotations

from collections.abc import Iterable

from redis.asyncio import Redis

KEPT_S = 15
"""An entry counts for this long; it is said again every KEPT_S / 3."""

MOST = 5_000
"""Names of a cluster that are looked at every second; whoever was said last goes first."""
TOPIC, GROUP, CLUSTER = "topic", "group", "cluster"


def _key(cluster: str) -> str:
    return f"signalbox:watched:{cluster}"


async def note(redis: Redis, cluster: str, objects: Iterable[tuple[str, str]], now_s: float) -> None:
    """`objects` are kind and name."""
    entries = {f"{kind}:{name}": now_s + KEPT_S for kind, name in objects}
    if entries:
        await redis.zadd(_key(cluster), entries)
        await redis.expire(_key(cluster), 4 * KEPT_S)


async def read(redis: Redis, cluster: str, now_s: float) -> list[tuple[str, str]]:
    found = await redis.zrevrangebyscore(_key(cluster), "+inf", now_s, start=0, num=MOST)
    objects = []
    for entry in found:
        kind, _, name = entry.decode().partition(":")
        objects.append((kind, name))
    return objects


async def sweep(redis: Redis, cluster: str, now_s: float) -> None:
    await redis.zremrangebyscore(_key(cluster), "-inf", now_s)
