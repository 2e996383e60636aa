from __future__ import annotations

from pathlib import Path

from tests.crash.checker.check import check_history, main
from tests.crash.checker.events import History, decode_event, encode_event, read_history
from tests.crash.checker.stories import committed, good_story, mark, read, sent


def test_an_event_survives_its_line() -> None:
    for event in (sent("a", 1, 5, t=1.5), read("b", 2, 0), committed(7), mark("kill")):
        line = encode_event(event)
        assert line.count(b"\n") == 1 and line.endswith(b"\n")
        assert decode_event(line) == event


def test_a_saved_history_reads_back_in_order(tmp_path: Path) -> None:
    history = History()
    history.add(*good_story())
    history.save(tmp_path / "history.jsonl")
    assert list(read_history(tmp_path / "history.jsonl")) == good_story()


def test_a_good_history_passes_every_checker() -> None:
    assert check_history(good_story()) == []


def test_the_command_tells_good_from_bad(tmp_path: Path, capsys: object) -> None:
    path = tmp_path / "history.jsonl"
    History(good_story()).save(path)
    assert main(str(path)) == 0
    History(good_story()[:-1]).save(path)
    assert main(str(path)) == 1
