"""What a pop tells about the messages that it gave: receipt handles, and the offsets of each queue read.

A handle (property POP_CK, field extraInfo) is eight words:

    startOffset popTime invisibleTime reviveQueueId retryFlag brokerName queueId queueOffset

A pop's answer has the parts of its handles in three texts, entries separated by `;`:

    startOffsetInfo   flag queueId startOffset
    msgOffsetInfo     flag queueId offset,offset,…
    orderCountInfo    flag queueId count | flag qo<queueId>%<queueOffset> count

The retry flag says in which topic the message lies: 0 the one asked for, 1 and 2 the group's pop retry topic
of that version. Bytes and values only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from engine.errors import BadRequest
from engine.protocol.names import RETRY_PREFIX, pop_retry_topic, pop_retry_topic_v1

NORMAL, RETRY_V1, RETRY_V2 = "0", "1", "2"
ORDER_REVIVE_QUEUE = 999
"""In place of a revive queue: the message was popped in order, and no checkpoint stands behind it."""

_WORDS = 8
_MAX_HANDLE_CHARACTERS = 1024
_MAX_NUMBER = 1 << 63


@dataclass(frozen=True, slots=True)
class PopHandle:
    start_offset: int
    pop_time_ms: int
    invisible_ms: int
    revive_queue_id: int
    retry_flag: str
    broker_name: str
    queue_id: int
    queue_offset: int

    def encode(self) -> str:
        return (
            f"{self.start_offset} {self.pop_time_ms} {self.invisible_ms} {self.revive_queue_id} "
            f"{self.retry_flag} {self.broker_name} {self.queue_id} {self.queue_offset}"
        )

    @property
    def is_ordered(self) -> bool:
        return self.revive_queue_id == ORDER_REVIVE_QUEUE


def parse_handle(text: str, queue_offset: int | None = None) -> PopHandle:
    """`queue_offset` stands in for the last word, which old clients leave out of what they send."""
    words = text.split(" ") if len(text) <= _MAX_HANDLE_CHARACTERS else []
    if len(words) == _WORDS - 1 and queue_offset is not None:
        words.append(str(queue_offset))
    if len(words) != _WORDS or words[4] not in (NORMAL, RETRY_V1, RETRY_V2) or not words[5]:
        raise _bad(text)
    numbers = [_number(word, text) for word in (*words[:4], *words[6:])]
    start, popped, invisible, revive_queue, queue_id, offset = numbers
    return PopHandle(start, popped, invisible, revive_queue, words[4], words[5], queue_id, offset)


def _number(word: str, text: str) -> int:
    if not (word.isascii() and word.isdigit() and len(word) < 20 and int(word) < _MAX_NUMBER):
        raise _bad(text)
    return int(word)


def _bad(text: str) -> BadRequest:
    return BadRequest(f"{text!r:.80} is not a receipt handle")


def retry_flag(topic: str, group: str) -> str:
    """Which kind of topic this is for the group."""
    if not topic.startswith(RETRY_PREFIX):
        return NORMAL
    return RETRY_V2 if topic.startswith(f"{RETRY_PREFIX}{group}+") else RETRY_V1


def real_topic(flag: str, topic: str, group: str) -> str:
    """The topic in which a message lies that was popped from `topic` under this flag."""
    if flag == NORMAL or topic.startswith(RETRY_PREFIX):
        return topic
    return pop_retry_topic(group, topic) if flag == RETRY_V2 else pop_retry_topic_v1(group, topic)


# -- the texts of an answer ---------------------------------------------------------------------------------

QueueMark = tuple[str, int]
"""(retry flag, queue id): one queue of an answer."""


def encode_start_offsets(starts: Mapping[QueueMark, int]) -> str:
    return ";".join(f"{flag} {queue_id} {start}" for (flag, queue_id), start in starts.items())


def encode_offsets(offsets: Mapping[QueueMark, Iterable[int]]) -> str:
    return ";".join(
        f"{flag} {queue_id} {','.join(map(str, found))}" for (flag, queue_id), found in offsets.items()
    )


def encode_order_counts(counts: Mapping[QueueMark, Mapping[int, int]]) -> str | None:
    """How often each message was given before; a message that is not named was not."""
    entries: list[str] = []
    for (flag, queue_id), by_offset in counts.items():
        entries += [f"{flag} qo{queue_id}%{offset} {n}" for offset, n in by_offset.items() if n]
        if by_offset and (least := min(by_offset.values())):
            entries.append(f"{flag} {queue_id} {least}")
    return ";".join(entries) or None


def parse_start_offsets(text: str) -> dict[QueueMark, int]:
    starts: dict[QueueMark, int] = {}
    for entry in text.split(";"):
        words = entry.split(" ")
        if len(words) != 3 or not words[1].isdigit():
            raise BadRequest(f"{text!r:.80} is not a list of queues and start offsets")
        starts[words[0], int(words[1])] = int(words[2])
    return starts


def parse_order_counts(text: str | None) -> dict[tuple[str, str], int]:
    """(flag, `queueId` or `qo<queueId>%<offset>`): count."""
    counts: dict[tuple[str, str], int] = {}
    for entry in (text or "").split(";"):
        words = entry.split(" ")
        if len(words) == 3 and words[2].isdigit():
            counts[words[0], words[1]] = int(words[2])
    return counts
