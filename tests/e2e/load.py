"""An application that never stops sending: what was acknowledged must be found afterwards."""

from __future__ import annotations

import threading
import time
from types import TracebackType
from typing import Self

from engine.client import ConsumeFromWhere, LitePullOptions, Message, blocking
from engine.errors import EngineError
from engine.protocol.signing import Credentials

_PAUSE_S = 0.01
_DRAIN_S = 60.0
_ENOUGH = 20
_ENOUGH_S = 60.0


class Load:
    def __init__(self, namesrv: str, credentials: Credentials | None, topic: str) -> None:
        self._namesrv = namesrv
        self._credentials = credentials
        self._topic = topic
        self._mark = f"load-{time.time_ns()}"
        self._quit = threading.Event()
        self._thread = threading.Thread(target=self._send_on, daemon=True)
        self.acknowledged: set[str] = set()
        self.failures = 0
        self.longest_gap_s = 0.0
        """Between one acknowledgement and the next."""

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Only after enough of it: a broker may be healed before the first send to the dead one has ended."""
        deadline = time.monotonic() + _ENOUGH_S
        while kind is None and len(self.acknowledged) <= _ENOUGH and time.monotonic() < deadline:
            time.sleep(0.1)
        self._quit.set()
        self._thread.join(30)

    def _send_on(self) -> None:
        with blocking.Producer("loaders", namesrv=self._namesrv, credentials=self._credentials) as producer:
            number, last = 0, time.monotonic()
            while not self._quit.is_set():
                number += 1
                body = f"{self._mark}-{number}"
                try:
                    if producer.send(Message(self._topic, body.encode())).status.name == "SEND_OK":
                        self.acknowledged.add(body)
                        now = time.monotonic()
                        self.longest_gap_s, last = max(self.longest_gap_s, now - last), now
                except EngineError:
                    self.failures += 1
                self._quit.wait(_PAUSE_S)

    def check_nothing_is_lost(self, group: str) -> None:
        """Read the whole topic again, from the first message on."""
        assert len(self.acknowledged) > _ENOUGH, (len(self.acknowledged), self.failures)
        missing = set(self.acknowledged)
        options = LitePullOptions(from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET, auto_commit=False)
        deadline = time.monotonic() + _DRAIN_S
        with blocking.LitePullConsumer(
            group, namesrv=self._namesrv, options=options, credentials=self._credentials
        ) as reader:
            queues = reader.queues(self._topic)
            reader.assign(queues)
            for queue in queues:
                reader.seek_to_begin(queue)
            while missing and time.monotonic() < deadline:
                missing -= {message.body.decode() for message in reader.poll(timeout_ms=1_000)}
        assert not missing, f"{len(missing)} of {len(self.acknowledged)} acknowledged messages are lost"
        counted = f"{len(self.acknowledged)} acknowledged, {self.failures} refused, 0 lost"
        print(f"{counted}, longest gap {self.longest_gap_s:.1f} s")
