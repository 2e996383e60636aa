"""Records of batches: one suite for the Python source and for what the compiler made of it. What they must
equal is made by the ordinary reader of batches and the ordinary record."""

from __future__ import annotations

from types import ModuleType

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from engine.errors import BadInput, BadRequest
from engine.protocol import _batches_cy as installed
from engine.protocol.batches import BatchItem, decode_batch, encode_batch
from engine.protocol.message_ids import offset_msg_id
from engine.protocol.records import RecordForm
from tests.engine.protocol.ways import ways_of

MAKERS = ways_of(installed)
each_maker = pytest.mark.parametrize("maker", MAKERS.values(), ids=MAKERS)
V4, V6 = bytes(range(8)), bytes(range(20))
ITEMS = [
    BatchItem(0, b"hello", b"TAGS\x01blue\x02"),
    BatchItem(-7, b"", b""),
    BatchItem(0x7FFFFFFF, bytes(range(256)) * 40, b"k\x01" + b"v" * 32000 + b"\x02"),
]
MARKS = (b"DELAY", b"TIMER_", b"TRAN_MSG")


def test_the_pure_maker_is_not_compiled() -> None:
    assert not MAKERS["pure"].is_compiled() and not MAKERS["without_cython"].is_compiled()


def form(topic: str = "topic", born_host: bytes = V4, store_host: bytes = V4) -> RecordForm:
    return RecordForm(topic.encode(), len(born_host), store_host)


def record(of: RecordForm, size: int, item: BatchItem, born_host: bytes, number: int, offset: int) -> bytes:
    common = (born_host, 1_700_000_000_123, 2, 0)
    return of.encode(
        size, 3, item.flag, number, offset, 0x11, 1_700_000_000_000, *common, item.body, item.properties
    )


def ordinary(of: RecordForm, items: list[BatchItem], born_host: bytes, number: int, offset: int) -> bytes:
    records = []
    for item in items:
        size = of.overhead + len(item.body) + len(item.properties)
        records.append(record(of, size if records else 0, item, born_host, number + len(records), offset))
        offset += size
    return b"".join(records)


def made(
    maker: ModuleType, of: RecordForm, items: list[BatchItem], born_host: bytes, number: int, offset: int
) -> tuple[bytes, list[int]]:
    template = record(of, 0, BatchItem(0, b"", b""), born_host, 0, 0)
    batch = maker.measure_batch(encode_batch(items))
    records: tuple[bytes, list[int]] = maker.encode_batch_records(
        batch, template, of.fixed_bytes, number, offset
    )
    return records


@each_maker
@pytest.mark.parametrize("topic", ["t", "t" * 127, "t" * 128, "ж"])
@pytest.mark.parametrize(("born_host", "store_host"), [(V4, V4), (V6, V4), (V4, V6), (V6, V6)])
def test_the_records_are_those_of_the_ordinary_way(
    maker: ModuleType, topic: str, born_host: bytes, store_host: bytes
) -> None:
    of = form(topic, born_host, store_host)
    records, offsets = made(maker, of, ITEMS, born_host, 10**15, 1 << 40)
    assert records == ordinary(of, ITEMS, born_host, 10**15, 1 << 40)
    sizes = [of.overhead + len(item.body) + len(item.properties) for item in ITEMS]
    assert offsets == [(1 << 40) + sum(sizes[:n]) for n in range(4)]


@each_maker
def test_a_batch_is_measured(maker: ModuleType) -> None:
    body = encode_batch(ITEMS)
    properties = sum(len(item.properties) for item in ITEMS)
    assert maker.measure_batch(body) == (body, 3, 5 + 256 * 40, 5 + 256 * 40 + properties, False)


@each_maker
@pytest.mark.parametrize("mark", MARKS)
def test_marks_are_seen_in_properties_only(maker: ModuleType, mark: bytes) -> None:
    for properties in (mark, b"x" + mark + b"\x01", b"DELATIMERTRAN_MS" + mark):
        assert maker.measure_batch(encode_batch([*ITEMS, BatchItem(0, b"", properties)])).has_marks
    for properties in (mark[:-1], mark[1:], b""):
        item = BatchItem(0, mark, properties)
        assert not maker.measure_batch(encode_batch([item, BatchItem(0, b"", mark[-1:])])).has_marks


@each_maker
def test_a_body_that_cannot_be_read_is_refused_in_the_words_of_its_reader(maker: ModuleType) -> None:
    whole = encode_batch(ITEMS[:2])
    bodies = [whole[:end] for end in range(len(whole))] + [whole + b"\0" * n for n in range(1, 23)]
    for at in range(len(whole)):
        bodies += [whole[:at] + bytes([value]) + whole[at + 1 :] for value in (0, 1, 0x7F, 0x80, 0xFF)]
    for body in bodies:
        try:
            decode_batch(body)
        except BadRequest as error:
            with pytest.raises(BadRequest) as refused:
                maker.measure_batch(body)
            assert (refused.value.text, refused.value.data) == (error.text, error.data)
        else:
            maker.measure_batch(body)


@each_maker
def test_a_measure_of_another_body_is_refused(maker: ModuleType) -> None:
    of, batch = form(), maker.measure_batch(encode_batch(ITEMS))
    template = record(of, 0, BatchItem(0, b"", b""), V4, 0, 0)
    for wrong in (
        batch._replace(count=2),
        batch._replace(count=4),
        batch._replace(content_bytes=0),
        batch._replace(count=2, content_bytes=batch.content_bytes + 22),
        batch._replace(count=4, content_bytes=batch.content_bytes - 22),
        batch._replace(body=batch.body[:-1]),
        batch._replace(body=b"\xff" * len(batch.body)),
    ):
        with pytest.raises(BadInput):
            maker.encode_batch_records(wrong, template, of.fixed_bytes, 0, 0)
    for fixed in (0, 35, len(template) - 2, len(template), -1):
        with pytest.raises(BadInput):
            maker.encode_batch_records(batch, template, fixed, 0, 0)


@each_maker
def test_message_ids_are_listed_as_one_by_one(maker: ModuleType) -> None:
    offsets = (0, 1, 0xABCDEF, 0x7FFFFFFFFFFFFFFF)
    expected = ",".join(offset_msg_id(("127.0.0.1", 10911), offset) for offset in offsets)
    assert maker.message_ids("7F00000100002A9F", offsets) == expected
    assert maker.message_ids("7F00000100002A9F", (5,)) == offset_msg_id(("127.0.0.1", 10911), 5)
    assert maker.message_ids("7F", ()) == ""


texts = st.lists(st.sampled_from([*MARKS, b"D", b"T", b"\x01", b"\x02", b"DELA", b"\xff"]), max_size=5)
items = st.builds(BatchItem, st.integers(-(2**31), 2**31 - 1), st.binary(max_size=300), texts.map(b"".join))


@given(st.lists(items, min_size=1, max_size=8), st.integers(0, 1 << 40), st.integers(0, 1 << 50))
def test_all_ways_agree(many: list[BatchItem], number: int, offset: int) -> None:
    expected = ordinary(form(), many, V4, number, offset)
    marked = any(mark in item.properties for item in many for mark in MARKS)
    for maker in MAKERS.values():
        assert made(maker, form(), many, V4, number, offset)[0] == expected
        assert maker.measure_batch(encode_batch(many)).has_marks == marked


@given(st.binary(max_size=120))
@example(b"\0\0\0\x16" + bytes(18))
@example(b"\x7f\xff\xff\xff" + bytes(18))
def test_all_ways_agree_on_noise(noise: bytes) -> None:
    results = []
    for maker in MAKERS.values():
        try:
            results.append(tuple(maker.measure_batch(noise)))
        except BadRequest as error:
            results.append((error.text,))
    assert results[0] == results[1] == results[2]
