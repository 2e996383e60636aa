"""Compressed bodies: what one side's clients compress, the other side's read."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from engine.client import Message, Producer, ProducerOptions
from engine.protocol.sys_flags import COMPRESSED

from .clusters import Cluster
from .java_client import JavaClient
from .python_client import bodies, stored
from .received import body, read_all

pytestmark = pytest.mark.needs_maven
Fresh = Callable[[str], str]
SIZE = 20_000


@pytest.mark.parametrize("kind", ["ZLIB", "LZ4", "ZSTD"])
async def test_what_java_compresses_is_read_by_us(
    cluster: Cluster, java_5: JavaClient, fresh: Fresh, kind: str
) -> None:
    topic = fresh("packed")
    java_5.do("send-sync", topic=topic, count=3, size=SIZE, group=fresh("producers"), compress=kind)
    received = await stored(cluster, topic, 3)
    assert len(received) == 3
    assert all(message.record.sys_flag & COMPRESSED for message in received)
    assert all(len(message.record.body) < SIZE <= len(message.body) for message in received)
    assert [text[:6] for text in bodies(received)] == ["body-0", "body-1", "body-2"]


async def test_what_the_old_java_client_compresses_is_read_by_us(
    cluster: Cluster, java: JavaClient, fresh: Fresh
) -> None:
    topic = fresh("packed")
    java.do("send-sync", topic=topic, size=SIZE)
    (message,) = await stored(cluster, topic, 1)
    assert message.record.sys_flag & COMPRESSED
    assert message.body.startswith(b"body-0 ")


@pytest.mark.parametrize("kind", ["zlib", "lz4", "zstd"])
async def test_what_we_compress_is_read_by_java(
    cluster: Cluster, java_5: JavaClient, fresh: Fresh, kind: str
) -> None:
    topic = fresh("packed")
    text = "a long body, again and again. " * 1_000
    options = ProducerOptions(compression=kind)  # type: ignore[arg-type]
    async with Producer(fresh("producers"), namesrv=cluster.name_server, options=options) as producer:
        await producer.send(Message(topic, text.encode()))
    (ours,) = await stored(cluster, topic, 1)
    assert len(ours.record.body) < len(text) // 4
    (received,) = read_all(java_5, topic, 1)
    assert body(received) == text
