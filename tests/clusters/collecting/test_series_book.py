"""History: only changes are kept, minutes and hours are rolled up, a successor goes on where it ended."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusters.collecting import series_book
from clusters.collecting.series_book import Key, SeriesBook, Stored
from clusters.selectors.packing import unpack

LAG: Key = ("group", "billing", "lag")
RATE: Key = ("topic", "orders", "put_rate")
HEARD: Key = ("broker", "a", "sampled")
HOUR = 1_700_000_000 - 1_700_000_000 % 3600


def book_of(values: dict[int, float | None], key: Key = LAG, until_s: int = 0) -> SeriesBook:
    book = SeriesBook()
    for at_s, value in values.items():
        book.advance(HOUR + at_s)
        book.note(HOUR + at_s, [(key, value)])
    if until_s:
        book.advance(HOUR + until_s)
    return book


def stored(
    book: SeriesBook, resolution: int, key: Key = LAG
) -> list[tuple[int, list[tuple[int, float | None]]]]:
    due = book.take_due(2**40, is_last=True)
    return [
        (start - HOUR, list(unpack(points)))
        for one, res, start, points in due
        if (one, res) == (key, resolution)
    ]


def test_only_changes_are_kept() -> None:
    book = book_of({0: 5, 10: 5, 20: 5, 30: 7, 40: None, 50: None})
    assert stored(book, 10) == [(0, [(0, 5), (3, 7), (4, None)])]


def test_two_values_of_one_slot_are_one_point() -> None:
    assert stored(book_of({3: 5, 8: 6}), 10) == [(0, [(0, 6)])]


def test_a_minute_is_the_largest_lag_and_the_mean_rate() -> None:
    values: dict[int, float | None] = {0: 0, 10: 60, 20: 0, 70: 0}
    assert stored(book_of(values), 60)[0][1][0] == ((HOUR % 86_400) // 60, 60)
    assert stored(book_of(values, RATE), 60, RATE)[0][1][0][1] == 10.0


def test_a_minute_without_a_change_is_settled_once() -> None:
    book = book_of({0: 60, 50: 30})
    for minute in range(1, 6):
        book.advance(HOUR + minute * 60)
    [(_, points)] = stored(book, 60)
    assert [value for _, value in points] == [60, 30]


def test_a_new_hour_begins_with_what_still_holds() -> None:
    book = book_of({0: 5, 3590: 5}, until_s=3600)
    assert stored(book, 10) == [(0, [(0, 5)]), (3600, [(0, 5)])]


def test_every_slot_in_which_a_broker_was_heard_is_kept() -> None:
    book = book_of({0: 1.0, 10: 1.0, 30: 1.0, 70: 1.0}, HEARD)
    assert stored(book, 10, HEARD) == [(0, [(0, 1.0), (1, 1.0), (3, 1.0), (7, 1.0)])]


def test_an_hour_is_rolled_up_from_its_minutes() -> None:
    book = SeriesBook()
    for at_s in range(0, 3700, 10):
        book.advance(HOUR + at_s)
        book.note(HOUR + at_s, [(LAG, float(at_s))])
    [(_, points)] = stored(book, 3600)
    assert [value for _, value in points] == [3590.0]


def test_points_are_handed_out_when_they_are_due() -> None:
    book = SeriesBook()
    book.advance(HOUR)
    book.note(HOUR, [(LAG, 1.0)])
    assert len(book.take_due(HOUR)) == 1
    book.note(HOUR + 10, [(LAG, 2.0)])
    assert book.take_due(HOUR + 10) == []
    assert len(book.take_due(HOUR + 60)) == 1
    assert book.take_due(HOUR + 120) == []


def test_a_successor_rolls_up_what_was_not_stored() -> None:
    first = SeriesBook()
    for at_s in range(0, 300, 10):
        first.advance(HOUR + at_s)
        first.note(HOUR + at_s, [(LAG, float(at_s))])
    tens: list[Stored] = [one for one in first.take_due(2**40, is_last=True) if one[1] == 10]
    second = SeriesBook()
    second.load(tens, HOUR + 310)
    [(_, points)] = stored(second, 60)
    assert [value for _, value in points] == [50, 110, 170, 230, 290]


def test_a_round_stores_its_share_and_what_was_heard_comes_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(series_book, "SHARE", 2)
    book = SeriesBook()
    book.advance(HOUR)
    lags: list[Key] = [("group", name, "lag") for name in "abc"]
    book.note(HOUR, [(HEARD, 1.0), *((key, 1.0) for key in lags)])
    assert [key for key, *_ in book.take_due(HOUR)] == lags[:2]
    book.note(HOUR + 10, [(HEARD, 1.0), (lags[2], 2.0)])
    last, heard = book.take_due(HOUR + 10)
    assert (last[0], list(unpack(last[3]))) == (lags[2], [(0, 1.0), (1, 2.0)])
    assert (heard[0], list(unpack(heard[3]))) == (HEARD, [(0, 1.0)]), "as it was when their turn came"


@given(st.lists(st.lists(st.sampled_from([None, 0, 1, 2]), min_size=4, max_size=4), min_size=1, max_size=60))
def test_what_was_heard_is_never_stored_before_what_was_said(rounds: list[list[float | None]]) -> None:
    """Whatever is read between two rounds: in every slot that was heard, the value is that of the slot."""
    keys: list[Key] = [("group", name, "lag") for name in "abcd"]
    book, stored_chunks, truth = SeriesBook(), {}, {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(series_book, "SHARE", 2)
        for number, values in enumerate(rounds):
            # Over the end of an hour, with its chunks.
            at_s = HOUR + 3600 - 200 + number * 10
            book.advance(at_s)
            book.note(at_s, [*zip(keys, values, strict=True), (HEARD, 1.0)])
            truth[at_s] = dict(zip(keys, values, strict=True))
            for key, resolution, start, points in book.take_due(at_s):
                if resolution == 10:
                    stored_chunks[key, start] = dict(unpack(points))
            for start in (HOUR, HOUR + 3600):
                for slot in stored_chunks.get((HEARD, start), ()):
                    for key in keys:
                        points_of_key = stored_chunks.get((key, start), {})
                        before = [value for at, value in sorted(points_of_key.items()) if at <= slot]
                        assert (before or [None])[-1] == truth[start + slot * 10][key]


@given(st.lists(st.lists(st.sampled_from([None, 0, 1, 2]), min_size=3, max_size=3), min_size=20, max_size=40))
def test_nor_is_a_minute_that_was_heard(rounds: list[list[float | None]]) -> None:
    """Over the end of a day, with its chunks."""
    midnight = HOUR - HOUR % 86_400
    keys: list[Key] = [("group", name, "lag") for name in "abc"]
    book, stored_chunks, truth = SeriesBook(), {}, {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(series_book, "SHARE", 1)
        patch.setattr(series_book, "_STORE_EVERY_S", {10: 60, 60: 10, 3600: 60})
        for number, values in enumerate(rounds):
            at_s = midnight - 120 + number * 10
            book.advance(at_s)
            book.note(at_s, [*zip(keys, values, strict=True), (HEARD, 1.0)])
            for key, value in zip(keys, values, strict=True):
                most = max(
                    (one for one in (truth.get((key, at_s // 60)), value) if one is not None), default=None
                )
                truth[key, at_s // 60] = most
            for key, resolution, start, points in book.take_due(at_s):
                if resolution == 60:
                    stored_chunks[key, start] = dict(unpack(points))
            for (heard, start), slots in stored_chunks.items():
                for slot in slots if heard == HEARD else ():
                    for key in keys:
                        points_of_key = stored_chunks.get((key, start), {})
                        before = [value for at, value in sorted(points_of_key.items()) if at <= slot]
                        assert (before or [None])[-1] == truth[key, start // 60 + slot]
    for key, resolution, start, points in book.take_due(2**40, is_last=True):
        if (key, resolution) == (HEARD, 60):
            stored_chunks[key, start] = dict(unpack(points))
    heard_in = {
        start // 60 + at for (key, start), slots in stored_chunks.items() if key == HEARD for at in slots
    }
    assert heard_in == {minute for _, minute in truth} - {at_s // 60}, "no minute that ended is left out"


@pytest.mark.parametrize("end_s", [3600, 86_400 - HOUR % 86_400])
def test_what_is_gone_with_an_hour_or_a_day_is_gone_from_its_minutes(end_s: int) -> None:
    book = SeriesBook()
    for at_s in range(end_s - 60, end_s + 120, 10):
        book.advance(HOUR + at_s)
        book.note(HOUR + at_s, [(LAG, 7.0 if at_s < end_s - 20 else None)])
    points = [(start // 60 + slot, value) for start, some in stored(book, 60) for slot, value in some]
    assert points[0] == (end_s // 60 - 1, 7.0)
    assert (end_s // 60, None) in points and points[-1][1] is None


def test_minutes_and_hours_are_rolled_up_over_several_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    book = SeriesBook()
    keys: list[Key] = [HEARD, LAG, ("group", "b", "lag")]
    for at_s in range(0, 3600, 10):
        book.advance(HOUR + at_s)
        book.note(HOUR + at_s, [(key, float(at_s)) for key in keys])
    monkeypatch.setattr(series_book, "SHARE", 1)
    seen: list[int] = []
    for at_s in range(3600, 3680, 10):
        book.advance(HOUR + at_s)
        seen.append(len(book._open[3600]))
        assert (HEARD in book._open[3600]) == (seen[-1] == 3), "what was heard comes last"
    assert seen == [0, 0, 0, 0, 1, 2, 3, 3], "three minutes, which of them changed, three hours"
    [(_, points)] = stored(book, 3600)
    assert [value for _, value in points] == [3590.0]


def test_at_the_end_no_hour_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(series_book, "SHARE", 0)
    book = book_of({at_s: float(at_s) for at_s in range(0, 3600, 10)}, until_s=3600)
    [(_, points)] = stored(book, 3600)
    assert [value for _, value in points] == [3590.0]
