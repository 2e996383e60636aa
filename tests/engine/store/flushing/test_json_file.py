"""Configuration files survive a crash at any step."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.store.flushing.json_file import read_json, write_json


def test_the_previous_copy_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "config" / "topics.json"
    write_json(path, b'{"n": 1}')
    write_json(path, b'{"n": 2}')
    assert read_json(path, json.loads) == ({"n": 2}, None)
    assert json.loads((tmp_path / "config" / "topics.json.bak").read_bytes()) == {"n": 1}
    assert sorted(entry.name for entry in path.parent.iterdir()) == ["topics.json", "topics.json.bak"]


@pytest.mark.parametrize("torn", [b"", b'{"n": ', b"\0" * 100, None])
def test_a_torn_file_falls_back_to_the_copy(tmp_path: Path, torn: bytes | None) -> None:
    path = tmp_path / "topics.json"
    write_json(path, b'{"n": 1}')
    write_json(path, b'{"n": 2}')
    path.unlink() if torn is None else path.write_bytes(torn)
    content, wrong = read_json(path, json.loads)
    assert content == {"n": 1}
    assert torn is None or (wrong is not None and "topics.json" in wrong)


def test_nothing_readable_is_told_apart_from_nothing_there(tmp_path: Path) -> None:
    path = tmp_path / "topics.json"
    assert read_json(path, json.loads) == (None, None)
    path.write_bytes(b"{")
    content, wrong = read_json(path, json.loads)
    assert content is None and wrong is not None
