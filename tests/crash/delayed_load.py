"""A producer of messages for later: levels, times and recalls, one request at a time, all written down."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace

from tests.crash import requests as rq
from tests.crash.checker.delay import Delivery, Waiting
from tests.crash.drain import read_queue
from tests.crash.load import QUEUES, TOPIC, body_of, stored_value
from tests.crash.wire import Address, Link

RECALL = 370
LEVELS_MS = (1_000, 2_000, 3_000, 4_000)
LEVELS = {"messageDelayLevel": "1s 2s 3s 4s", "recallMessageEnable": "true"}
_BODY_BYTES = 200


@dataclass(frozen=True, slots=True)
class Delays:
    """What is asked for: the broker's levels, and times within a range."""

    levels_ms: tuple[int, ...] = LEVELS_MS
    least_ms: int = 1_000
    most_ms: int = 6_000

    @property
    def settings(self) -> dict[str, str]:
        levels = " ".join(f"{level_ms // 1000}s" for level_ms in self.levels_ms)
        return {"messageDelayLevel": levels, "recallMessageEnable": "true"}


SHORT_DELAYS = Delays()


class LaterProducer(threading.Thread):
    """Sends `count`, or until told to stop or the broker is gone. What was in flight then is unsure."""

    def __init__(
        self,
        address: Address,
        seed: int,
        *,
        first_seq: int,
        count: int,
        rate_per_s: float,
        recalled_part: float = 0.1,
        delays: Delays = SHORT_DELAYS,
    ) -> None:
        super().__init__(daemon=True)
        self._address = address
        self._random = random.Random(seed)
        self._pause_s = 1.0 / rate_per_s
        self._recalled_part = recalled_part
        self._delays = delays
        self._range = range(first_seq, first_seq + count)
        self._quit = threading.Event()
        self.next_seq = first_seq
        self.waitings: list[Waiting] = []

    def stop(self) -> None:
        self._quit.set()

    def run(self) -> None:
        try:
            with Link(self._address) as link:
                for seq in self._range:
                    if self._quit.is_set():
                        break
                    self.next_seq = seq + 1
                    self._send(link, seq)
                    self._quit.wait(self._pause_s)
        except OSError:
            pass

    def _send(self, link: Link, seq: int) -> None:
        value = ("later", seq)
        is_level = self._random.random() < 0.5
        begun_ms = int(time.time() * 1000)
        if is_level:
            level = self._random.randrange(len(self._delays.levels_ms))
            properties, due_ms = f"DELAY\x01{level + 1}\x02", begun_ms + self._delays.levels_ms[level]
        else:
            due_ms = begun_ms + self._random.randrange(self._delays.least_ms, self._delays.most_ms)
            properties = f"TIMER_DELIVER_MS\x01{due_ms}\x02"
        fields = rq.send_fields(TOPIC, seq % QUEUES, f"later:{seq}")
        fields["i"] += properties
        self.waitings.append(Waiting(value, due_ms, is_sure=False))
        answer = link.call(rq.SEND_V2, fields, body_of(value, _BODY_BYTES))
        if answer.code == rq.SYSTEM_BUSY:
            self.waitings[-1] = replace(self.waitings[-1], is_refused=True)
            return
        assert answer.code == rq.SUCCESS, f"{answer.code} {answer.remark}"
        self.waitings[-1] = replace(self.waitings[-1], is_sure=True)
        handle = answer.fields.get("recallHandle")
        if handle is not None and self._random.random() < self._recalled_part:
            self._recall(link, handle)

    def _recall(self, link: Link, handle: str) -> None:
        self.waitings[-1] = replace(self.waitings[-1], is_recall_unsure=True)
        answer = link.call(RECALL, {"topic": TOPIC, "recallHandle": handle, "producerGroup": "g"})
        is_recalled = answer.code == rq.SUCCESS
        self.waitings[-1] = replace(self.waitings[-1], is_recalled=is_recalled, is_recall_unsure=False)


def settled_deliveries(address: Address, waitings: Iterable[Waiting], patience_s: float) -> list[Delivery]:
    """As `deliveries`, once all that must come are there or this time is over: so that what is only late is
    called late, and what is called lost is lost."""
    expected = {
        waiting.value
        for waiting in waitings
        if waiting.is_sure and not waiting.is_recalled and not waiting.is_recall_unsure
    }
    deadline = time.monotonic() + patience_s
    while True:
        found = deliveries(address)
        if expected <= {one.value for one in found} or time.monotonic() > deadline:
            return found
        time.sleep(1.0)


def deliveries(address: Address) -> list[Delivery]:
    """Everything that the topic holds by now."""
    with Link(address) as link:
        return [
            Delivery(stored_value(stored), stored.store_timestamp)
            for queue in range(QUEUES)
            for stored in read_queue(link, TOPIC, queue)
        ]
