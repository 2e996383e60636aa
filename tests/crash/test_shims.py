"""Each shim does to a small Python process what it is there to do to a broker."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.crash.power import Ext4Disk, Platter
from tests.crash.shims.build import shim
from tests.crash.small_disk import MB, SmallDisk


def run(code: str, name: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "LD_PRELOAD": str(shim(name)), **environment},
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_wall_clock_jumps_and_the_monotonic_clock_does_not(tmp_path: Path) -> None:
    control = tmp_path / "clock"
    control.write_text("0")
    code = f"""
import time
wall, even = time.time(), time.monotonic()
open({str(control)!r}, "w").write("-3600")
print(round((time.time() - wall) / 100), round((time.monotonic() - even) / 100))
"""
    assert run(code, "clock", CLOCK_FILE=str(control)) == "-36 0"


def test_a_sync_fails_only_while_told_and_only_where_told(tmp_path: Path) -> None:
    control = tmp_path / "fault"
    code = f"""
import errno, os
log = os.open({str(tmp_path / "commitlog")!r}, os.O_CREAT | os.O_RDWR)
other = os.open({str(tmp_path / "other")!r}, os.O_CREAT | os.O_RDWR)
def sync(fd):
    try: os.fdatasync(fd)
    except OSError as error: return errno.errorcode[error.errno]
    return "ok"
before = sync(log)
open({str(control)!r}, "w").write("eio")
print(before, sync(log), sync(other))
open({str(control)!r}, "w").write("enospc")
for action, *arguments in ((os.posix_fallocate, 0, 4096), (os.pwrite, b"x", 0), (os.write, b"x")):
    try: action(log, *arguments); print("done")
    except OSError as error: print(errno.errorcode[error.errno])
print(os.pwrite(other, b"x", 0), sync(log))
"""
    output = run(code, "faults", FAULT_FILE=str(control), FAULT_MATCH="/commitlog")
    assert output.split() == ["ok", "EIO", "ok", "ENOSPC", "ENOSPC", "ENOSPC", "1", "ok"]


def test_a_small_disk_is_as_full_as_told_and_deleting_makes_room(tmp_path: Path) -> None:
    disk = SmallDisk(tmp_path / "disk", tmp_path / "store")
    code = f"""
import errno, os
os.chdir({str(tmp_path)!r})
def used():
    room = os.statvfs("store"); return round(1000 * (1 - room.f_bavail / room.f_blocks))
def grow(name, size):
    fd = os.open(name, os.O_CREAT | os.O_RDWR)
    try: os.posix_fallocate(fd, 0, size); return "ok"
    except OSError as error: return errno.errorcode[error.errno]
    finally: os.close(fd)
def write(name):
    try:
        with open(name, "wb") as file: file.write(b"x" * 5000)
        return "ok"
    except OSError as error: return errno.errorcode[error.errno]
room = lambda others: open("disk", "w").write(f"{100 * MB} {{others}}")
room(0); print(used(), grow("store/a", {MB}), used())
room({98 * MB}); print(used(), grow("store/b", {2 * MB}), grow("outside", {2 * MB}), grow("store/b", {MB}))
print(write("store/c"), write("outside"), grow("store/a", {MB}))
os.remove("store/b"); print(write("store/c"))
fd = os.open("store/a", os.O_RDWR); print(os.pwrite(fd, b"x" * 4096, 4096), end=" ")
os.remove("disk"); print(os.statvfs("store").f_blocks * 4096 != {100 * MB})
"""
    output = run(code, "small_disk", **disk.environment)
    assert output.splitlines() == [
        "0 ok 10",
        "990 ENOSPC ok ok",
        "ENOSPC ok ok",
        "ok",
        "4096 True",
    ]


def test_only_what_was_synced_is_on_the_platter(tmp_path: Path) -> None:
    store, platter, environment = watched(tmp_path)
    (store / "config").mkdir()
    code = f"""
import os
os.chdir({str(store)!r})
def put(path, data, sync):
    fd = os.open(path, os.O_CREAT | os.O_RDWR); os.pwrite(fd, data, 0)
    if sync: os.fdatasync(fd)
    os.close(fd)
def sync_folder(path):
    fd = os.open(path, os.O_RDONLY); os.fsync(fd); os.close(fd)
put("log", b"synced.", True)
put("log", b"unsynced", False)
put("never", b"x", False)
put("config/a.json.tmp", b"old", True); os.rename("config/a.json.tmp", "config/a.json"); sync_folder("config")
put("config/a.json.tmp", b"new", True); os.rename("config/a.json.tmp", "config/a.json")
put("config/gone", b"x", True); os.unlink("config/gone")
"""
    run(code, "platter", **environment)
    tree = platter / "tree"
    assert (tree / "log").read_bytes() == b"synced."
    assert not (tree / "never").exists()
    assert (tree / "config/a.json").read_bytes() == b"old"
    assert (tree / "config/gone").exists(), "a deletion without a folder sync is undone"
    run(
        f"import os; os.fsync(os.open({str(store / 'config')!r}, os.O_RDONLY))",
        "platter",
        **environment,
    )
    assert (tree / "config/a.json").read_bytes() == b"new"
    assert not (tree / "config/gone").exists() and not (tree / "config/a.json.tmp").exists()


def test_a_sparse_file_stays_sparse_on_the_platter(tmp_path: Path) -> None:
    store, platter, environment = watched(tmp_path)
    code = f"""
import os
fd = os.open({str(store / "index")!r}, os.O_CREAT | os.O_RDWR)
os.ftruncate(fd, 400_000_000); os.pwrite(fd, b"far", 300_000_000); os.fdatasync(fd)
"""
    run(code, "platter", **environment)
    copy = platter / "tree" / "index"
    with copy.open("rb") as file:
        file.seek(300_000_000)
        assert file.read(3) == b"far"
    assert copy.stat().st_size == 400_000_000 and copy.stat().st_blocks * 512 < 1_000_000


@pytest.mark.crash_long
@pytest.mark.needs_mounts
def test_a_disk_comes_back_although_another_namespace_took_a_copy_of_its_mount(disk: Ext4Disk) -> None:
    """What `ip netns exec` does: a copy of all mounts that hears of the originals, and is not heard."""
    copier = ["unshare", "--mount", "--propagation", "slave", "sh", "-c", "echo; exec sleep 60"]
    with subprocess.Popen(copier, stdout=subprocess.PIPE) as holder:
        try:
            assert holder.stdout and holder.stdout.readline() == b"\n"
            synced, lost = disk.mount_point / "synced", disk.mount_point / "lost"
            synced.write_bytes(b"kept")
            subprocess.run(["sync", "--file-system", str(synced)], check=True)
            lost.write_bytes(b"never written")
            disk.shut_down()
            disk.remount()
            assert synced.read_bytes() == b"kept" and not lost.exists()
        finally:
            holder.kill()


def watched(folder: Path) -> tuple[Path, Path, dict[str, str]]:
    platter = Platter(folder)
    return platter.store, platter.tree, platter.environment
