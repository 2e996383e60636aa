"""A transactional application as a process of its own, to be killed: its database is a file of lines.

    python -m tests.crash.transaction_process namesrv ledger first count step

The local transaction of number n appends `n commit` or `n rollback`. `step` is where it kills itself, at its
last transaction: `half` (the half message is stored, the local transaction is not), `local` (the line is
written, the broker not told), `end` (told, and gone before anything else), or `never`: then it only answers
questions. `count` are the local transactions that it comes to: a broker that is away costs numbers. A
transaction that left no line was never committed: that is a rollback.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import signal
import subprocess
import sys
from pathlib import Path

from engine.client import Message, ProducerOptions, ReceivedMessage, TransactionProducer
from engine.client.sending.transaction_producer import TransactionState
from engine.errors import EngineError
from tests.crash.load import body_of, value_of
from tests.crash.transaction_load import GROUP, TOPIC

STEPS = ("half", "local", "end")
COMMIT, ROLLBACK = "commit", "rollback"
_STATES = {COMMIT: TransactionState.COMMIT, ROLLBACK: TransactionState.ROLLBACK}


def read_ledger(path: Path) -> dict[int, str]:
    if not path.exists():
        return {}
    lines = path.read_text().split("\n")[:-1]
    return {int(number): decision for number, decision in map(str.split, lines)}


class Application:
    def __init__(self, ledger: Path, count: int, step: str) -> None:
        self._ledger = ledger
        self._left = count
        self._step = step
        self._current = -1

    def check(self, message: ReceivedMessage) -> TransactionState:
        value = value_of(message.body)
        assert value is not None
        if value[1] == self._current:
            return TransactionState.UNKNOWN  # still at it
        return _STATES[read_ledger(self._ledger).get(value[1], ROLLBACK)]

    async def transact(self, producer: TransactionProducer, number: int) -> None:
        self._current = number

        async def execute(message: Message) -> TransactionState:
            self._left -= 1
            self._die_at("half")
            decision = ROLLBACK if number % 3 == 0 else COMMIT
            with self._ledger.open("a") as ledger:
                ledger.write(f"{number} {decision}\n")
            self._die_at("local")
            return _STATES[decision]

        with contextlib.suppress(EngineError):  # the broker is away just now
            await producer.send_in_transaction(Message(TOPIC, body_of(("a", number), 100)), execute)
        self._die_at("end")
        self._current = -1

    def _die_at(self, step: str) -> None:
        if step == self._step and self._left <= 0:
            os.kill(os.getpid(), signal.SIGKILL)


async def run(namesrv: str, ledger: Path, first: int, count: int, step: str) -> None:
    application = Application(ledger, count, step)
    options = ProducerOptions(send_timeout_ms=2_000)
    async with TransactionProducer(GROUP, application.check, namesrv=namesrv, options=options) as producer:
        for number in itertools.count(first):
            if step == "never":
                await asyncio.Event().wait()
            await application.transact(producer, number)


class ApplicationProcess:
    def __init__(self, namesrv: str, ledger: Path, first: int, count: int, step: str) -> None:
        words = [namesrv, str(ledger), str(first), str(count), step]
        command = [sys.executable, "-m", "tests.crash.transaction_process", *words]
        self._process = subprocess.Popen(command, cwd=Path(__file__).parents[2], stdout=subprocess.DEVNULL)

    def wait(self, timeout_s: float) -> None:
        """Until it has killed itself."""
        assert self._process.wait(timeout_s) == -signal.SIGKILL

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


if __name__ == "__main__":
    asyncio.run(run(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]))
