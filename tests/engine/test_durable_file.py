"""Whole old content or whole new content, whatever step a crash hits."""

from __future__ import annotations

import errno
import json
import os

import pytest

from engine.durable_file import read_durable, write_durable


def test_the_previous_content_is_kept_as_backup(tmp_path):
    path = tmp_path / "config" / "topics.json"
    write_durable(path, b"1")
    write_durable(path, b"2")
    assert path.read_bytes() == b"2"
    assert path.with_name("topics.json.bak").read_bytes() == b"1"
    assert not path.with_name("topics.json.tmp").exists()


@pytest.mark.parametrize("torn", [b"", b'{"a":', b"\x00" * 64, b'{"a":1}{"b'])
def test_a_torn_file_falls_back_to_its_backup_and_says_so(tmp_path, torn):
    path = tmp_path / "offsets.json"
    path.write_bytes(torn)
    path.with_name("offsets.json.bak").write_bytes(b'{"a":1}')
    content, damage = read_durable(path, json.loads)
    assert content == {"a": 1}
    assert "offsets.json" in damage


def test_nothing_and_all_bad_are_told_apart(tmp_path):
    path = tmp_path / "x.json"
    assert read_durable(path, json.loads) == (None, None)
    path.write_bytes(b"{")
    content, damage = read_durable(path, json.loads)
    assert content is None and damage


@pytest.mark.parametrize("dying_step", ["write", "fsync", "first rename", "second rename"])
def test_a_crash_at_any_step_leaves_whole_content(tmp_path, monkeypatch, dying_step):
    path = tmp_path / "x.json"
    write_durable(path, b"[1]")
    renames = []

    def die(*args, **kwargs):
        raise KeyboardInterrupt

    def counted(source, target, real=os.replace):
        renames.append(source)
        if len(renames) == (1 if dying_step == "first rename" else 2):
            die()
        real(source, target)

    if dying_step in ("write", "fsync"):
        monkeypatch.setattr(os, dying_step, die)
    else:
        monkeypatch.setattr(os, "replace", counted)
    with pytest.raises(KeyboardInterrupt):
        write_durable(path, b"[2]")
    assert read_durable(path, json.loads)[0] == [1]


def test_a_planted_link_is_not_followed(tmp_path):
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    (tmp_path / "x.json.tmp").symlink_to(victim)
    with pytest.raises(OSError):
        write_durable(tmp_path / "x.json", b"evil")
    assert victim.read_bytes() == b"precious"


def test_a_full_disk_takes_the_backups_room(tmp_path, monkeypatch):
    path, backup = tmp_path / "x.json", tmp_path / "x.json.bak"
    write_durable(path, b"[1]")
    write_durable(path, b"[2]")

    def write(descriptor, data, real=os.write):
        if backup.exists():
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(descriptor, data)

    monkeypatch.setattr(os, "write", write)
    write_durable(path, b"[3]")
    assert (path.read_bytes(), backup.read_bytes()) == (b"[3]", b"[2]")


def test_on_a_full_disk_no_other_writer_gets_the_backups_room(tmp_path, monkeypatch):
    """Whatever is free for an instant is taken by somebody else: only blocks that stay ours can be used."""
    path, backup = tmp_path / "x.json", tmp_path / "x.json.bak"
    write_durable(path, b"[1]")
    write_durable(path, b"[2]")
    blocks = {backup.stat().st_ino}

    def write(descriptor, data, real=os.write):
        if os.fstat(descriptor).st_ino not in blocks:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(descriptor, data)

    def unlink(target, real=os.unlink, **options):
        blocks.discard(os.stat(target).st_ino)
        real(target, **options)

    monkeypatch.setattr(os, "write", write)
    monkeypatch.setattr(os, "unlink", unlink)
    for number in range(3, 6):
        blocks.add(path.stat().st_ino)
        write_durable(path, b"[%d]" % number)
        assert (path.read_bytes(), backup.read_bytes()) == (b"[%d]" % number, b"[%d]" % (number - 1))


def test_a_shorter_content_leaves_nothing_of_a_longer_one(tmp_path):
    path = tmp_path / "x.json"
    (tmp_path / "x.json.tmp").write_bytes(b"[1, 2, 3, 4, 5, 6]")
    write_durable(path, b"[7]")
    assert path.read_bytes() == b"[7]"


def test_a_full_disk_without_a_backup_changes_nothing_and_is_named(tmp_path, monkeypatch):
    path = tmp_path / "x.json"
    write_durable(path, b"[1]")

    def write(descriptor, data):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", write)
    with pytest.raises(OSError, match="No space") as failed:
        write_durable(path, b"[2]")
    assert failed.value.filename == str(tmp_path / "x.json.tmp")
    assert path.read_bytes() == b"[1]"


def test_a_missing_file_falls_back_to_its_backup(tmp_path):
    path = tmp_path / "topics.json"
    write_durable(path, b'{"n": 1}')
    write_durable(path, b'{"n": 2}')
    path.unlink()
    assert read_durable(path, json.loads) == ({"n": 1}, None)
