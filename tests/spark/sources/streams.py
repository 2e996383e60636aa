"""A streaming query as a process of its own, which can be killed; and a sender that goes on meanwhile.

Run as a program (`python -m tests.spark.sources.streams JSON`) it is the query: a source into Parquet with a
checkpoint. Imported, `Query` starts, watches and kills it. How far the query is, its checkpoint tells: a
batch is in `offsets` when it begins and in `commits` when it is over.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from engine.client import Message, Producer, ProducerOptions, SendStatus

ROOT = Path(__file__).resolve().parents[3]
PATIENCE_S = 240.0


@dataclass(slots=True)
class Query:
    """One query over its lives: each `start` continues from the checkpoint."""

    home: Path
    format: str
    options: Mapping[str, str]
    _process: subprocess.Popen[bytes] | None = None

    @property
    def output(self) -> Path:
        return self.home / "parquet"

    @property
    def log(self) -> Path:
        return self.home / "query.log"

    def start(self, *, until_done: bool = False) -> None:
        """`until_done`: takes what there is now, and ends."""
        asked = {
            "format": self.format,
            "options": dict(self.options),
            "output": str(self.output),
            "checkpoint": str(self.home / "checkpoint"),
            "until_done": until_done,
        }
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__, json.dumps(asked)],
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def kill(self) -> None:
        """Python and its JVM at once, and nothing is told to them; their workers end without them."""
        assert self._process is not None
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def close(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self.kill()

    def wait(self) -> None:
        """Until it ends by itself."""
        assert self._process is not None
        assert self._process.wait(PATIENCE_S) == 0, self.log.read_text()[-4000:]

    def wait_until(self, is_so: Callable[[], bool], what: str) -> None:
        assert self._process is not None
        deadline = time.monotonic() + PATIENCE_S
        while not is_so():
            assert self._process.poll() is None, f"the query ended: {self.log.read_text()[-4000:]}"
            assert time.monotonic() < deadline, f"not within {PATIENCE_S} s: {what}"
            time.sleep(0.002)

    def begun(self) -> int:
        """How many batches have begun, in all of its lives."""
        return _highest(self.home / "checkpoint" / "offsets") + 1

    def done(self) -> int:
        return _highest(self.home / "checkpoint" / "commits") + 1

    def steps(self) -> list[dict[str, int]]:
        """How much further each batch got, by what an offset counts."""
        folder = self.home / "checkpoint" / "offsets"
        offsets = [_offset(folder / str(number)) for number in range(self.begun())]
        return [
            {key: end - before.get(key, 0) for key, end in offset.items()}
            for before, offset in pairwise([{}, *offsets])
        ]

    def is_in_a_batch(self) -> bool:
        return self.begun() > self.done()

    def kill_inside_a_batch(self, after: int) -> None:
        """Once that many more batches are done, in the middle of one."""
        wanted = self.done() + after
        self.wait_until(lambda: self.done() >= wanted, f"{after} batches")
        self.wait_until(self.is_in_a_batch, "a batch begins")
        self.kill()
        assert self.is_in_a_batch(), "the kill came too late"

    def kill_between_batches(self, after: int) -> None:
        wanted = self.done() + after
        self.wait_until(lambda: self.done() >= wanted, f"{after} batches")
        self.kill()


def _highest(folder: Path) -> int:
    """The last batch that a log of the checkpoint knows; what Spark is still writing has another name."""
    names = [path.name for path in folder.iterdir()] if folder.exists() else []
    return max((int(name) for name in names if name.isdigit()), default=-1)


def _offset(file: Path) -> dict[str, int]:
    """A version, the batch's own settings, and then a line for each source."""
    (_, _, offset) = file.read_text().splitlines()
    return dict(json.loads(offset))


@dataclass(slots=True)
class Sender:
    """Numbered messages, some hundred a second, until told to stop; what was acknowledged is noted."""

    name_server: str
    topic: str
    batch: int = 50
    pause_s: float = 0.1
    acknowledged: list[int] = field(default_factory=list)
    _is_over: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        asyncio.run(self._send())

    async def _send(self) -> None:
        options = ProducerOptions(send_timeout_ms=30_000)
        async with Producer("stream", namesrv=self.name_server, options=options) as producer:
            first = 0
            while not self._is_over.is_set():
                numbers = range(first, first + self.batch)
                messages = [Message(self.topic, b"%d " % number + b"x" * 400) for number in numbers]
                results = await producer.send_batch(messages)
                assert all(result.status is SendStatus.SEND_OK for result in results)
                self.acknowledged += numbers
                first += self.batch
                await asyncio.sleep(self.pause_s)

    @contextmanager
    def sending(self) -> Iterator[Sender]:
        thread = threading.Thread(target=self.run)
        thread.start()
        try:
            yield self
        finally:
            self._is_over.set()
            thread.join()


def main(words: str) -> None:
    from spark.session import open_session

    asked = json.loads(words)
    # The same short jobs again and again: see tests/spark/conftest.py.
    settings = {
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m",
    }
    session = open_session("stream", master="local[2]", settings=settings)
    frame = session.readStream.format(asked["format"]).options(**asked["options"]).load()
    writer = frame.writeStream.format("parquet").option("checkpointLocation", asked["checkpoint"])
    trigger = {"availableNow": True} if asked["until_done"] else {"processingTime": "0 seconds"}
    writer.trigger(**trigger).start(asked["output"]).awaitTermination()
    session.stop()


if __name__ == "__main__":
    main(sys.argv[1])
