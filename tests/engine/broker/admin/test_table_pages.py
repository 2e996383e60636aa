from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest

from engine.broker.admin.table_pages import MAX_PAGE, TablePages, gathered
from engine.errors import EngineError
from engine.net.outcomes import Reply, Slices
from engine.net.serving import next_step
from engine.protocol.bodies.basics import DataVersion
from engine.protocol.bodies.topics import TopicConfig

VERSION = DataVersion(0, 1, 1)
KNOWN = VERSION.encode().decode()


def names() -> list[str]:
    return [f"t{number:05}" for number in reversed(range(5_000))]


def page(
    pages: TablePages, names: Callable[[], list[str]], start: int, known: str | None, limit: int
) -> list[str]:
    table = SimpleNamespace(names=names, version=VERSION, get=TopicConfig)
    return list(pages.page(table, start, known, limit))  # type: ignore[arg-type]


def test_pages_follow_each_other_in_order() -> None:
    pages = TablePages()
    first = page(pages, names, 0, None, 3)
    second = page(pages, names, 3, KNOWN, 3)
    assert first + second == ["t00000", "t00001", "t00002", "t00003", "t00004", "t00005"]


def test_a_page_has_a_largest_size() -> None:
    assert len(page(TablePages(), names, 0, KNOWN, 1_000_000)) == MAX_PAGE
    assert page(TablePages(), names, 0, KNOWN, -1) == []


def test_another_version_starts_again() -> None:
    older = DataVersion(0, 1, 0).encode().decode()
    assert page(TablePages(), names, 4_000, older, 1) == ["t00000"]


def test_behind_the_end_there_is_nothing() -> None:
    assert page(TablePages(), names, 2**31 - 1, KNOWN, 10) == []


def test_a_version_that_is_none_is_refused() -> None:
    with pytest.raises(EngineError):
        page(TablePages(), names, 0, "{[", 10)


def test_names_are_sorted_once_per_version() -> None:
    asked: list[int] = []

    def counted() -> list[str]:
        asked.append(1)
        return ["b", "a"]

    pages = TablePages()
    for _ in range(3):
        page(pages, counted, 0, KNOWN, 2)
    assert len(asked) == 1


def test_between_two_slices_the_loop_gets_its_turn() -> None:
    done: list[int] = []

    def slices() -> Iterator[None]:
        for number in range(3):
            done.append(number)
            yield

    outcome = gathered(slices(), lambda: Reply(remark="finished"))
    for number in range(3):
        assert isinstance(outcome, Slices)
        assert done == list(range(number + 1))
        outcome = next_step(outcome)
    assert outcome == Reply(remark="finished")
