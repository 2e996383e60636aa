"""Transaction producers on raw connections, and the one that answers the broker's questions.

What an application decides follows from the sequence number alone, so that it is the same word whoever is
asked, in whichever process, before and after any crash: that is what a local database would say. Some
decisions are never sent, as if the producer had died: the broker must ask.
"""

from __future__ import annotations

import contextlib
import threading
import time

import orjson

from tests.crash import requests as rq
from tests.crash.checker.events import DRAIN, INFO, NEMESIS, OK, PULL, Event, History, Value
from tests.crash.checker.transactions import COMMITTED, GIVEN_UP_TOPIC, ROLLED_BACK, TX, UNDECIDED
from tests.crash.drain import read_queue
from tests.crash.load import body_of, value_of
from tests.crash.wire import Address, Answer, Link, LinkClosed, decode_answer, decode_stored, encode_request

TOPIC = "CrashOrders"
GROUP = "CrashTransactions"
QUEUES = 4
HALF_TOPIC, SYSTEM_GROUP = "RMQ_SYS_TRANS_HALF_TOPIC", "CID_RMQ_SYS_TRANS"
END_TRANSACTION, CHECK_TRANSACTION, HEART_BEAT = 37, 39, 34
_CODES = {COMMITTED: 8, ROLLED_BACK: 12, UNDECIDED: 0}
_ONEWAY = 2
_BODY_BYTES = 200


def decision_of(value: Value) -> str:
    return ROLLED_BACK if value[1] % 3 == 0 else COMMITTED


def never(value: Value) -> str:
    return UNDECIDED


def is_told(value: Value) -> bool:
    """Every fifth producer dies between its half message and its decision."""
    return value[1] % 5 != 0


class AskedLink(Link):
    """A link that keeps what the broker asks."""

    def __init__(self, address: Address) -> None:
        super().__init__(address)
        self.questions: list[Answer] = []

    def _cut(self) -> list[Answer]:
        position = 0
        while len(self._received) - position >= 4:
            end = position + 4 + int.from_bytes(self._received[position : position + 4], "big")
            if end > len(self._received):
                break
            frame = decode_answer(bytes(self._received[position + 4 : end]))
            if not frame.is_response:
                self.questions.append(frame)
            position = end
        return super()._cut()


class TransactionProducer(threading.Thread):
    """Half message, decision, next; until it is stopped or its broker dies."""

    def __init__(
        self, name: str, address: Address, history: History, first_seq: int, decide: object = decision_of
    ) -> None:
        super().__init__(name=name, daemon=True)
        self._address = address
        self._history = history
        self._decide = decide
        self._is_stopped = threading.Event()
        self.next_seq = first_seq

    def stop(self) -> None:
        self._is_stopped.set()

    def run(self) -> None:
        try:
            with Link(self._address) as link:
                while not self._is_stopped.is_set():
                    value = (self.name, self.next_seq)
                    self.next_seq += 1
                    self._transact(link, value)
        except (OSError, LinkClosed):
            pass  # the broker died; what was in flight is already noted as unknown

    def _transact(self, link: Link, value: Value) -> None:
        assert callable(self._decide)
        decision = self._decide(value)
        begun = time.monotonic()
        status = INFO
        try:
            answer = link.call(rq.SEND_V2, half_fields(value), body_of(value, _BODY_BYTES))
            status = rq.send_status(answer.code)
        finally:
            self._history.add(
                Event(TX, self.name, begun, time.monotonic(), status, TOPIC, key=decision, value=value)
            )
        if status == OK and decision != UNDECIDED and is_told(value):
            offset = int(answer.fields["msgId"][16:], 16)
            fields = end_fields(
                answer.fields["queueOffset"], offset, decision, answer.fields["transactionId"]
            )
            link.write(encode_request(END_TRANSACTION, link.next_opaque(), fields, flag=_ONEWAY))


class Answerer(threading.Thread):
    """A live producer of the group: answers whatever the broker asks, by the application's word."""

    def __init__(self, address: Address, decide: object = decision_of) -> None:
        super().__init__(name="answerer", daemon=True)
        self._address = address
        self._decide = decide
        self._is_stopped = threading.Event()
        self.answered = 0

    def stop(self) -> None:
        self._is_stopped.set()

    def run(self) -> None:
        try:
            with AskedLink(self._address) as link:
                body = {
                    "clientID": "answerer",
                    "producerDataSet": [{"groupName": GROUP}],
                    "consumerDataSet": [],
                }
                assert link.call(HEART_BEAT, {}, orjson.dumps(body)).code == rq.SUCCESS
                while not self._is_stopped.is_set():
                    with contextlib.suppress(TimeoutError):
                        link.receive(0.1)
                    self._answer_all(link)
        except (OSError, LinkClosed):
            pass

    def _answer_all(self, link: AskedLink) -> None:
        assert callable(self._decide)
        questions, link.questions = link.questions, []
        for question in questions:
            assert question.code == CHECK_TRANSACTION, question
            (stored,) = decode_stored(question.body)
            value = value_of(stored.body)
            assert value is not None, "the broker asks about a message that nobody sent"
            fields = end_fields(
                question.fields["tranStateTableOffset"],
                int(question.fields["commitLogOffset"]),
                self._decide(value),
                question.fields["msgId"],
            )
            fields["fromTransactionCheck"] = "true"
            link.write(encode_request(END_TRANSACTION, link.next_opaque(), fields, flag=_ONEWAY))
            self.answered += 1


def half_fields(value: Value) -> dict[str, str]:
    properties = f"TRAN_MSG\x01true\x02PGROUP\x01{GROUP}\x02KEYS\x01{value[0]}:{value[1]}\x02"
    fields = rq.send_fields(TOPIC, value[1] % QUEUES, "", born_ms=int(time.time() * 1000))
    return {**fields, "a": GROUP, "f": "4", "i": properties}


def end_fields(queue_offset: str, commit_log_offset: int, decision: str, key: str) -> dict[str, str]:
    return {
        "producerGroup": GROUP,
        "tranStateTableOffset": queue_offset,
        "commitLogOffset": str(commit_log_offset),
        "commitOrRollback": str(_CODES[decision]),
        "msgId": key,
        "transactionId": key,
    }


def open_count(address: Address) -> int:
    """How far the broker's own group is from the end of the half queue: 0 when nothing is open."""
    with Link(address) as link:
        end = link.call(rq.GET_MAX_OFFSET, rq.queue_fields(HALF_TOPIC, 0)).fields["offset"]
        answer = link.call(rq.QUERY_OFFSET, rq.fetch_fields(HALF_TOPIC, SYSTEM_GROUP, 0))
        return int(end) - (int(answer.fields["offset"]) if answer.code == rq.SUCCESS else 0)


def drain_transactions(address: Address, history: History) -> None:
    """What is in the real topic and in the topic of those given up, after a mark."""
    now = time.monotonic()
    history.add(Event(NEMESIS, "nemesis", now, now, key=DRAIN))
    with Link(address) as link:
        for topic, queues in ((TOPIC, QUEUES), (GIVEN_UP_TOPIC, 1)):
            if topic == GIVEN_UP_TOPIC and not _has(link, topic):
                continue
            for queue in range(queues):
                history.add(
                    *(
                        Event(PULL, "drain", now, now, OK, topic, queue, "", value_of(m.body), m.queue_offset)
                        for m in read_queue(link, topic, queue, group="CrashDrain")
                    )
                )


def _has(link: Link, topic: str) -> bool:
    return int(link.call(rq.GET_MAX_OFFSET, rq.queue_fields(topic, 0)).fields.get("offset", "0")) > 0
