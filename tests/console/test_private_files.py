"""The data root is for its owner alone. test_up.py looks at a real `up`, e2e/test_reports.py at Spark."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from console.private_files import PRIVATE_UMASK, keep_files_private, make_private


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """As an older release may have left it."""
    root = tmp_path / "data"
    for name in ("console/db.sqlite3", "hosts/a/clusters/c-1/b/out.log", "hosts/a/clusters/c-1/b/store/x"):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        path.chmod(0o644)
    python = root / "hosts/a/releases/r/bin/python"
    python.parent.mkdir(parents=True)
    python.touch()
    python.chmod(0o755)
    root.chmod(0o755)
    return root


def test_what_was_open_to_others_is_closed(root: Path) -> None:
    (root / "console" / "run.sh").touch()
    (root / "console" / "run.sh").chmod(0o755)
    changed = make_private(root)
    assert {path.relative_to(root).as_posix() for path in changed} >= {".", "console/db.sqlite3", "hosts"}
    assert mode(root / "console/db.sqlite3") == 0o600
    assert mode(root / "hosts/a/clusters/c-1/b/out.log") == 0o600
    assert mode(root / "console/run.sh") == 0o700, "programs stay programs"
    assert mode(root / "hosts/a/releases/r/bin/python") == 0o755, "an operator's"
    assert make_private(root) == []


def test_links_are_not_followed(root: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.touch()
    elsewhere.chmod(0o644)
    (root / "console" / "link").symlink_to(elsewhere)
    (root / "console" / "dangling").symlink_to(tmp_path / "nowhere")
    make_private(root)
    assert mode(elsewhere) == 0o644


def test_new_files_are_private(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        keep_files_private()
        (tmp_path / "new").touch()
        assert (mode(tmp_path / "new"), os.umask(0)) == (0o600, PRIVATE_UMASK)
    finally:
        os.umask(before)
