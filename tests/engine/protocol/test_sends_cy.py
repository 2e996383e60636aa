"""Plain sends: one suite for the Python source and for what the compiler made of it. What they must equal is
made by the ordinary decoder, the ordinary record and the ordinary reply."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import BadRequest
from engine.net.outcomes import Reply
from engine.protocol import _sends_cy as installed
from engine.protocol.commands import Command, encode_reply
from engine.protocol.headers.send import decode_send
from engine.protocol.properties import find_property
from engine.protocol.records import RecordForm

PROPERTIES = "UNIQ_KEY\x01K7\x02WAIT\x01true\x02TAGS\x01blue\x02"
PLAIN = {
    "a": "group",
    "b": "topic",
    "c": "TBW102",
    "d": "4",
    "e": "3",
    "f": "1",
    "g": "1700000000000",
    "h": "9",
    "i": PROPERTIES,
    "j": "2",
    "k": "false",
    "m": "false",
    "n": "broker-a",
}
SUFFIX = b"CLUSTER\x01c\x02"
V4, V6 = bytes(range(8)), bytes(range(20))
ROOM_END = 1 << 30
Made = tuple[bytes, bytes, tuple[str, int], int]


def load_source(name: str) -> ModuleType:
    """The .py itself, even where a compiled module stands in front of it."""
    path = Path(installed.__file__).parent / "_sends_cy.py"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def load_without_cython() -> ModuleType:
    with mock.patch.dict(sys.modules, {"cython": None}):
        return load_source("sends_without_cython")


MAKERS = {"pure": load_source("sends_pure"), "installed": installed, "without_cython": load_without_cython()}
each_maker = pytest.mark.parametrize("maker", MAKERS.values(), ids=MAKERS)


def test_the_pure_maker_is_not_compiled() -> None:
    assert not MAKERS["pure"].is_compiled()
    assert not MAKERS["without_cython"].is_compiled()


def answer(place: str, queue_id: object, queue_offset: object, key: str, opaque: int) -> bytes:
    fields = {
        "msgId": place,
        "queueId": str(queue_id),
        "queueOffset": str(queue_offset),
        "transactionId": key,
    }
    return encode_reply(Command(310, opaque=opaque), Reply(0, None, fields))


def answer_parts() -> tuple[bytes, ...]:
    rest, parts = answer("<place>", "<queue>", "<number>", "<key>", 1234567890)[8:], []
    for mark in (b"<place>", b"<queue>", b"<number>", b"<key>", b"1234567890"):
        part, _, rest = rest.partition(mark)
        parts.append(part)
    return (*parts, rest)


def put(
    maker: ModuleType,
    fields: dict[str, str],
    *,
    body: bytes = b"hello",
    opaque: int = 7,
    topic: str = "topic",
    born_host: bytes = V4,
    store_host: bytes = V4,
    queue_offset: int = 41,
    offset: int = 1000,
    room_end: int = ROOM_END,
    suffix: bytes = SUFFIX,
) -> Made | None:
    plain = maker.PlainSend(topic, 4, store_host, suffix, answer_parts())
    offsets = {(topic, number): queue_offset for number in range(4)}
    made: Made | None = plain.put(
        fields, body, opaque, born_host, offsets, offset, room_end, 1_700_000_000_123
    )
    return made


def ordinary(fields: dict[str, str], **changes: Any) -> Made:
    """The same by the ordinary way."""
    topic, body, opaque = (
        changes.get("topic", "topic"),
        changes.get("body", b"hello"),
        changes.get("opaque", 7),
    )
    queue_offset, offset = changes.get("queue_offset", 41), changes.get("offset", 1000)
    born_host, store_host = changes.get("born_host", V4), changes.get("store_host", V4)
    header = decode_send(310, fields)
    given = header.properties or ""
    # fmt: off
    record = RecordForm(topic.encode(), len(born_host), store_host).encode(
        0, header.queue_id, header.flag, queue_offset, offset, header.sys_flag, header.born_timestamp,
        born_host, 1_700_000_000_123, header.reconsume_times or 0, 0, body,
        given.encode() + changes.get("suffix", SUFFIX),
    )
    # fmt: on
    key = find_property(given, "UNIQ_KEY") or ""
    frame = answer(f"{offset:016X}", header.queue_id, queue_offset, key, opaque)
    return record, frame, (topic, header.queue_id), queue_offset


@each_maker
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"body": b""},
        {"body": bytes(range(256)) * 300},
        {"born_host": V6},
        {"store_host": V6},
        {"born_host": V6, "store_host": V6},
        {"topic": "t" * 127},
        {"topic": "t" * 128},
        {"opaque": 0},
        {"opaque": -5},
        {"opaque": 0x7FFFFFFF},
        {"opaque": -0x80000000},
        {"queue_offset": 0},
        {"queue_offset": 10**15},
        {"offset": 0},
        {"offset": 0xFEDCBA987654321, "room_end": 1 << 62},
        {"suffix": b""},
    ],
    ids=str,
)
def test_record_and_answer_are_those_of_the_ordinary_way(maker: ModuleType, changes: dict[str, Any]) -> None:
    assert put(maker, PLAIN, **changes) == ordinary(PLAIN, **changes)


@each_maker
@pytest.mark.parametrize("key", ["K", 'a"b', "a\\b", "ключ", "\t", "\x7f", "a/b<>&", "😀"])
def test_any_key_is_answered_as_json(maker: ModuleType, key: str) -> None:
    fields = {**PLAIN, "i": f"TAGS\x01blue\x02UNIQ_KEY\x01{key}\x02"}
    assert put(maker, fields) == ordinary(fields)


@each_maker
@pytest.mark.parametrize("absent", ["j", "k", "m", "n"])
def test_what_older_clients_leave_out_does_not_matter(maker: ModuleType, absent: str) -> None:
    fields = {name: value for name, value in PLAIN.items() if name != absent}
    assert put(maker, fields) == ordinary(fields)


@each_maker
@pytest.mark.parametrize("absent", list("acdefghi"))
def test_nothing_that_is_required_may_be_missing_or_empty(maker: ModuleType, absent: str) -> None:
    fields = {name: value for name, value in PLAIN.items() if name != absent}
    assert put(maker, fields) is None
    assert put(maker, {**PLAIN, absent: ""}) is None


@each_maker
def test_a_queue_without_an_offset_is_left_to_others(maker: ModuleType) -> None:
    plain = maker.PlainSend("topic", 4, V4, SUFFIX, answer_parts())
    assert plain.put(PLAIN, b"", 1, V4, {("topic", 2): 5}, 0, ROOM_END, 1) is None


@each_maker
def test_a_record_ends_where_the_room_does_at_the_latest(maker: ModuleType) -> None:
    size = len(ordinary(PLAIN)[0])
    assert put(maker, PLAIN, room_end=1000 + size) == ordinary(PLAIN)
    assert put(maker, PLAIN, room_end=1000 + size - 1) is None


@each_maker
def test_properties_are_as_long_as_their_field_can_say(maker: ModuleType) -> None:
    most = {**PLAIN, "i": PROPERTIES + "a\x01" + "v" * (0x7FFF - len(PROPERTIES) - len(SUFFIX) - 3) + "\x02"}
    assert put(maker, most) == ordinary(most)
    assert put(maker, {**most, "i": "b" + most["i"]}) is None


@each_maker
@pytest.mark.parametrize(
    "special",
    [
        {"e": "4"},
        {"f": "4"},
        {"f": "128"},
        {"k": "true"},
        {"m": "true"},
        {"m": "TRUE"},
        {"l": "16"},
        {"e": "-1"},
        {"e": "+1"},
        {"e": " 1"},
        {"e": "٣"},
        {"e": "1_0"},
        {"d": "x"},
        {"h": "1234567890"},
        {"g": "1" * 19},
        {"j": "-1"},
        {"i": "TAGS\x01blue\x02"},
        {"i": "UNIQ_KEY\x01\x02"},
        {"i": "XUNIQ_KEY\x01K\x02"},
        {"i": PROPERTIES[:-1]},
        {"i": PROPERTIES + "DELAY\x013\x02"},
        {"i": PROPERTIES + "TIMER_DELAY_MS\x013\x02"},
        {"i": PROPERTIES + "TRAN_MSG\x01true\x02"},
        {"i": PROPERTIES + "CLUSTER\x01c\x02"},
        {"i": PROPERTIES + "POP_CK\x011\x02"},
        {"i": "CLUSTER\x01c\x02" + PROPERTIES},
        {"i": PROPERTIES + "a\x01UNIQ_KEY\x01K\x02"},
        {"i": PROPERTIES + "a\x01no DELAY\x02"},
    ],
)
def test_anything_special_is_left_to_others(maker: ModuleType, special: dict[str, str]) -> None:
    assert put(maker, {**PLAIN, **special}) is None


marks = [
    "UNIQ_KEY",
    "A",
    "\x01",
    "\x02",
    "DELAY",
    "DELA",
    "TIMER_",
    "TRAN_MS",
    "CLUSTER",
    "POP_CK",
    "ж",
    "UNIQ",
]
texts = st.one_of(
    st.integers(-3, 1 << 33).map(str),
    st.text("0123456789 +-_٣²x", max_size=5),
    st.sampled_from(["true", "false", "", "9" * 18, "9" * 19, "%t", PROPERTIES]),
)
properties = st.lists(st.sampled_from(marks), max_size=14).map("".join)


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from("acdefghijklmn"), texts, max_size=4), properties)
def test_all_ways_agree(odd: dict[str, str], text: str) -> None:
    for fields in (
        {**PLAIN, **odd},
        {**PLAIN, "i": text},
        {**PLAIN, "i": f"{text}\x02{PROPERTIES}{text}\x02"},
    ):
        first, second, third = (put(maker, fields) for maker in MAKERS.values())
        assert first == second == third
        try:
            header = decode_send(310, fields)
        except BadRequest:
            assert first is None
            continue
        if first is not None:
            assert first == ordinary(fields)
            assert not (header.batch or header.unit_mode or header.max_reconsume_times)
