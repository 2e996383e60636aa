"""Popping consumers on raw connections: they acknowledge some, keep some longer, forget some, and write it
down."""

from __future__ import annotations

import random
import re
import threading
import time
from dataclasses import replace

from tests.crash import requests as rq
from tests.crash.checker.delivery import Given
from tests.crash.load import GROUP, TOPIC, value_of
from tests.crash.wire import Address, Answer, Link, decode_stored

POP, ACK, CHANGE = 200050, 200051, 200053
RETRY = f"%RETRY%{GROUP}_{TOPIC}"
_HANDLE = re.compile(rb"POP_CK\x01([^\x02]*)\x02")
_NOTHING = (209, 210)


def now_ms() -> float:
    return time.time() * 1000


class PoppingConsumer(threading.Thread):
    """Pops until told to stop or the broker is gone. `forgets`: the part that it does not acknowledge."""

    def __init__(
        self, address: Address, seed: int, *, hidden_ms: int, forgets: float, broker: str = "broker"
    ) -> None:
        super().__init__(daemon=True)
        self._broker = broker
        self._address = address
        self._random = random.Random(seed)
        self._hidden_ms = hidden_ms
        self._forgets = forgets
        self._quit = threading.Event()
        self.given: list[Given] = []
        self.failure: Exception | None = None
        """Why it stopped by itself: of a broker that dies, a broken connection."""

    def stop(self) -> None:
        self._quit.set()

    def run(self) -> None:
        try:
            with Link(self._address) as link:
                while not self._quit.is_set():
                    self._round(link)
        except Exception as error:
            self.failure = error

    def _round(self, link: Link) -> None:
        fields = {
            "consumerGroup": GROUP,
            "topic": TOPIC,
            "queueId": "-1",
            "maxMsgNums": str(self._random.randrange(1, 33)),
            "invisibleTime": str(self._hidden_ms),
            "pollTime": "300",
            "bornTime": "0",
            "initMode": "0",
        }
        asked_ms = now_ms()
        answer = link.call(POP, fields)
        if answer.code in _NOTHING:
            return
        assert answer.code == rq.SUCCESS, f"{answer.code} {answer.remark}"
        for handle, given in self._given(answer, asked_ms):
            self.given.append(given)
            self._decide(link, handle)

    def _given(self, answer: Answer, asked_ms: float) -> list[tuple[str, Given]]:
        """Each message with its handle: among its properties when it came back, else from the answer."""
        fields, position, found = answer.fields, 0, []
        starts = {
            words[1]: words[2]
            for words in map(str.split, fields["startOffsetInfo"].split(";"))
            if words[0] == "0"
        }
        popped_ms = int(fields["popTime"])
        for stored in decode_stored(answer.body):
            record = answer.body[position : position + stored.size]
            position += stored.size
            given = _HANDLE.search(record, 88 + len(stored.body))
            queue = str(stored.queue_id)
            handle = (
                given[1].decode()
                if given
                else f"{starts[queue]} {popped_ms} {fields['invisibleTime']} {fields['reviveQid']} 0 "
                f"{self._broker} {queue} {stored.queue_offset}"
            )
            hidden_until = popped_ms + int(fields["invisibleTime"])
            words = handle.split(" ")
            place = words[4], int(words[6]), int(words[7])
            value, tries = value_of(stored.body), stored.reconsume_times
            found.append((handle, Given(value, popped_ms, hidden_until, asked_ms, tries, place)))
        return found

    def _decide(self, link: Link, handle: str) -> None:
        chance = self._random.random()
        if chance < self._forgets / 2:
            return
        if chance < self._forgets:
            self._keep_longer(link, handle)
            return
        self._note(is_unsure=True)
        answer = link.call(ACK, self._fields(handle))
        assert answer.code == rq.SUCCESS, f"{answer.code} {answer.remark}"
        self._note(is_unsure=False, acked_ms=now_ms())

    def _keep_longer(self, link: Link, handle: str) -> None:
        self._note(is_unsure=True)
        answer = link.call(CHANGE, {**self._fields(handle), "invisibleTime": str(self._hidden_ms)})
        if answer.code == rq.SUCCESS:
            until = int(answer.fields["popTime"]) + self._hidden_ms
            self._note(is_unsure=False, hidden_until_ms=until)
        else:
            assert answer.code == 208, f"{answer.code} {answer.remark}"
            self._note(is_unsure=False)

    def _note(self, **changes: object) -> None:
        self.given[-1] = replace(self.given[-1], **changes)  # type: ignore[arg-type]

    def _fields(self, handle: str) -> dict[str, str]:
        words = handle.split(" ")
        topic = TOPIC if words[4] == "0" else RETRY
        return {
            "consumerGroup": GROUP,
            "topic": topic,
            "queueId": words[6],
            "extraInfo": handle,
            "offset": words[7],
        }
