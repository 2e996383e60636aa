"""Plain sends: one suite for the Python source and for what the compiler made of it."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import BadRequest
from engine.protocol import _sends_cy as installed
from engine.protocol.headers.send import decode_send
from engine.protocol.properties import find_property

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


READERS = {"pure": load_source("sends_pure"), "installed": installed, "without_cython": load_without_cython()}
each_reader = pytest.mark.parametrize("reader", READERS.values(), ids=READERS)


def test_the_pure_reader_is_not_compiled() -> None:
    assert not READERS["pure"].is_compiled()
    assert not READERS["without_cython"].is_compiled()


@each_reader
def test_a_plain_send_is_read(reader: ModuleType) -> None:
    stored = PROPERTIES.encode() + b"CLUSTER\x01c\x02"
    found = reader.plain_send(PLAIN, b"CLUSTER\x01c\x02")
    assert found == ("topic", 3, 9, 1, 1700000000000, 2, stored, "K7")


@each_reader
@pytest.mark.parametrize("absent", ["j", "k", "m", "n"])
def test_what_older_clients_leave_out_does_not_matter(reader: ModuleType, absent: str) -> None:
    fields = {name: value for name, value in PLAIN.items() if name != absent}
    assert reader.plain_send(fields, b"") is not None


@each_reader
@pytest.mark.parametrize("absent", list("abcdefghi"))
def test_nothing_that_is_required_may_be_missing_or_empty(reader: ModuleType, absent: str) -> None:
    fields = {name: value for name, value in PLAIN.items() if name != absent}
    assert reader.plain_send(fields, b"") is None
    assert reader.plain_send({**PLAIN, absent: ""}, b"") is None


@each_reader
@pytest.mark.parametrize(
    "special",
    [
        {"b": "%RETRY%group"},
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
    ],
)
def test_anything_special_is_left_to_others(reader: ModuleType, special: dict[str, str]) -> None:
    assert reader.plain_send({**PLAIN, **special}, b"") is None


texts = st.one_of(
    st.integers(-3, 1 << 33).map(str),
    st.text("0123456789 +-_٣²x", max_size=5),
    st.sampled_from(["true", "false", "", "9" * 18, "9" * 19, "%t", PROPERTIES]),
    st.lists(st.sampled_from(["UNIQ_KEY", "A", "B", "\x01", "\x02"]), max_size=12).map("".join),
)


@given(st.dictionaries(st.sampled_from("abcdefghijklmn"), texts, max_size=4))
def test_all_readers_agree_with_the_ordinary_one(odd: dict[str, str]) -> None:
    fields = {**PLAIN, **odd}
    first, second, third = (reader.plain_send(fields, b"") for reader in READERS.values())
    assert first == second == third
    try:
        header = decode_send(310, fields)
    except BadRequest:
        assert first is None
        return
    if first is not None:
        topic, queue_id, flag, sys_flag, born_timestamp, reconsume_times, properties, unique_key = first
        assert (topic, queue_id, flag, sys_flag) == (
            header.topic,
            header.queue_id,
            header.flag,
            header.sys_flag,
        )
        assert (born_timestamp, reconsume_times) == (header.born_timestamp, header.reconsume_times or 0)
        assert properties.decode() == header.properties
        assert unique_key == find_property(header.properties or "", "UNIQ_KEY")
        assert not (header.batch or header.unit_mode or header.max_reconsume_times)
