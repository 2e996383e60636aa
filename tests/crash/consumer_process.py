"""A consumer as a process of its own, to be killed: `namesrv group topic file [orderly]`.

A line is appended to the file for each message once it is processed: queue, offset, and when (monotonic, as
the tests see it, too). After a commit of all queues was answered, a line with queue -1 says when that commit
began. Nothing else of it survives.
"""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from engine.client import ConsumeFromWhere, ConsumerOptions, MessageQueue, PushConsumer, ReceivedMessage
from engine.client.consuming.offsets import RemoteOffsets

BATCH, THREADS = 8, 4
COMMITTED = -1


@dataclass(frozen=True, slots=True)
class Processed:
    queue: int
    offset: int
    at: float


def options(*, orderly: bool) -> ConsumerOptions:
    return ConsumerOptions(
        from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET,
        orderly=orderly,
        consume_batch_size=BATCH,
        threads=THREADS,
        commit_interval_s=0.2,
        rebalance_s=1.0,
        lock_interval_s=1.0,
    )


async def consume(namesrv: str, group: str, topic: str, path: Path, *, orderly: bool) -> None:
    with path.open("a", buffering=1) as file:

        async def listener(messages: list[ReceivedMessage]) -> None:
            await asyncio.sleep(random.uniform(0.001, 0.02))
            now = time.monotonic()
            file.write("".join(f"{m.queue.queue_id} {m.queue_offset} {now}\n" for m in messages))

        report_commits(file)
        consumer = PushConsumer(group, listener, namesrv=namesrv, options=options(orderly=orderly))
        consumer.subscribe(topic)
        async with consumer:
            await asyncio.Event().wait()


def report_commits(file: TextIO) -> None:
    persist = RemoteOffsets.persist

    async def reported(offsets: RemoteOffsets, queues: Iterable[MessageQueue] | None = None) -> None:
        begun = time.monotonic()
        await persist(offsets, queues)
        if queues is None:
            file.write(f"{COMMITTED} 0 {begun}\n")

    RemoteOffsets.persist = reported  # type: ignore[method-assign]


class ConsumerProcess:
    def __init__(self, namesrv: str, group: str, topic: str, path: Path, *, orderly: bool = False) -> None:
        words = [namesrv, group, topic, str(path), *(["orderly"] if orderly else [])]
        command = [sys.executable, "-m", "tests.crash.consumer_process", *words]
        self._process = subprocess.Popen(command, cwd=Path(__file__).parents[2])

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None


def read_processed(path: Path) -> list[Processed]:
    """A line that the kill cut short was not processed."""
    if not path.exists():
        return []
    lines = path.read_text().split("\n")[:-1]
    return [Processed(int(queue), int(offset), float(at)) for queue, offset, at in map(str.split, lines)]


if __name__ == "__main__":
    asyncio.run(
        consume(sys.argv[1], sys.argv[2], sys.argv[3], Path(sys.argv[4]), orderly="orderly" in sys.argv)
    )
