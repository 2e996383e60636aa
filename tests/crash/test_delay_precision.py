"""Ten thousand messages due in one second: at least 95 of 100 are out within a second of their time."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from engine.client import LitePullConsumer, Message, Producer
from tests.engine.client.servers import start_broker, start_name_server

pytestmark = [pytest.mark.crash_long, pytest.mark.timeout(120)]

COUNT = 10_000
AHEAD_MS = 12_000
LEVEL_MS = 10_000


def due_of(message_properties: dict[str, str], born_ms: int) -> int:
    asked = message_properties.get("TIMER_DELIVER_MS")
    return int(asked) if asked else born_ms + LEVEL_MS


@pytest.mark.parametrize("kind", ["time", "level"])
async def test_ten_thousand_of_one_second_are_in_time(tmp_path: Path, kind: str) -> None:
    name_server = start_name_server(tmp_path)
    broker = start_broker(tmp_path, name_server.address, brokerFastFailureEnable="false")
    try:
        async with Producer("shop", namesrv=name_server.address) as producer:
            await producer.send(Message("times", b"first"))
            begun_ms = int(time.time() * 1000)
            for number in range(COUNT):
                at_ms = begun_ms + AHEAD_MS + number * 1000 // COUNT
                later = {"deliver_at_ms": at_ms} if kind == "time" else {"delay_level": 3}
                await producer.send_async(Message("times", b"%d" % number, **later))
            await producer.flush()
        late_ms = await lateness(name_server.address)
    finally:
        broker.stop()
        name_server.stop()
    assert len(late_ms) == COUNT
    assert min(late_ms) >= 0
    in_time = sum(late <= 1000 for late in late_ms)
    print(f"{kind}: {in_time / COUNT:.1%} within a second, at most {max(late_ms)} ms late")
    assert in_time >= 0.95 * COUNT


async def lateness(namesrv: str) -> list[int]:
    late_ms: list[int] = []
    deadline = time.monotonic() + 40
    async with LitePullConsumer("precision", namesrv=namesrv) as reader:
        queues = await reader.queues("times")
        await reader.assign(queues)
        for queue in queues:
            await reader.seek(queue, 0)
        while len(late_ms) < COUNT and time.monotonic() < deadline:
            for message in await reader.poll(timeout_ms=500):
                if message.body != b"first":
                    due_ms = due_of(message.properties, message.born_timestamp)
                    late_ms.append(message.store_timestamp - due_ms)
    return late_ms
