"""The driver with real engine processes: started once, found again, healed, never two, never a stranger."""

from __future__ import annotations

import errno
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from clusters.provisioning import disk_room, driver, fences, presence
from clusters.provisioning.confs import (
    BrokerConf,
    NameServerConf,
    broker_settings,
    name_server_settings,
    secret_lines,
    text_of,
)
from clusters.provisioning.driver import DriverError, Kind, Presence, ProcessSpec
from clusters.provisioning.folders import UnsafeName, folder_of, part, remove, write_if_changed
from clusters.provisioning.log_tails import tail
from tests.clusters.failing_consumers import until
from tests.clusters.provisioning.agent_process import engines_below, free_block

SECRET = {"cluster.secret": "0123456789abcdef0123456789abcdef\n"}


def _name_server(root: Path) -> ProcessSpec:
    folder = folder_of(root, "c", 1, "namesrv-1")
    port = free_block(1)
    settings = name_server_settings(NameServerConf("127.0.0.1", port, folder.path, "off"))
    return ProcessSpec(Kind.NAME_SERVER, "namesrv-1", "127.0.0.1", port, folder, "builtin", settings)


def _broker(root: Path) -> ProcessSpec:
    folder = folder_of(root, "c", 1, "broker-a-0")
    port = free_block(5) + 2
    conf = BrokerConf(
        cluster="C",
        group="broker-a",
        member=0,
        profile="fast",
        overrides={"mappedFileSizeCommitLog": "8388608", "maxIndexNum": "1000", "maxHashSlotNum": "500"},
        host="127.0.0.1",
        port=port,
        folder=folder.path,
        secrets=folder.secrets,
        name_servers=["127.0.0.1:1"],
        access_control="off",
    )
    settings = broker_settings(conf)
    return ProcessSpec(Kind.BROKER, "broker-a-0", "127.0.0.1", port, folder, "builtin", settings)


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    for processes in engines_below(tmp_path).values():
        for process in processes:
            process.kill()


def _start(spec: ProcessSpec, root: Path, token: str = "t1") -> driver.Seen:
    driver.write_conf(spec, text_of(spec.settings), SECRET if spec.kind is Kind.BROKER else {})
    return driver.start(spec, root, token, 1)


def test_a_broker_is_started_once_found_again_and_stopped(root: Path) -> None:
    spec = _broker(root)
    assert driver.look(spec).presence is Presence.ABSENT
    seen = _start(spec, root)
    assert (seen.presence, seen.token, seen.digest) == (Presence.ANSWERS, "t1", spec.digest)
    # A second start, with another token, finds the first.
    assert _start(spec, root, "t2") == seen
    assert presence.is_store_locked(spec.folder.store_lock)
    process = presence.living(presence.read_pid_file(spec.folder.pid))
    assert process is not None and process.ppid() != os.getpid(), "it is nobody's child"
    assert [len(each) for each in engines_below(root).values()] == [1]
    for secret in (spec.conf, spec.folder.secrets / "cluster.secret", spec.folder.pid):
        assert secret.stat().st_mode & 0o077 == 0
    # It says so a moment after it answers.
    until(
        lambda: any("ready on" in line for line in tail(spec, "out", 10)["lines"]), "it says that it is ready"
    )
    assert driver.stop(spec) is False
    assert driver.look(spec).presence is Presence.ABSENT
    assert not presence.is_store_locked(spec.folder.store_lock)


def test_a_killed_process_and_a_reused_pid_are_recognised(root: Path) -> None:
    spec = _name_server(root)
    seen = _start(spec, root)
    assert seen.pid is not None
    os.kill(seen.pid, signal.SIGKILL)
    while presence.is_run_lock_held(spec.folder.run_lock):
        pass
    assert driver.look(spec).presence is Presence.ABSENT
    # Its pid now belongs to somebody else: this very test.
    about = json.loads(spec.folder.pid.read_text())
    spec.folder.pid.write_text(json.dumps(about | {"pid": os.getpid()}))
    assert presence.living(presence.read_pid_file(spec.folder.pid)) is None
    assert driver.stop(spec) is False
    # A pid file of an earlier boot says that the machine was started again.
    spec.folder.pid.write_text(json.dumps(about | {"boot": "another"}))
    assert driver.look(spec).was_rebooted


def test_a_port_that_somebody_else_has_is_not_taken_for_ours(root: Path) -> None:
    spec = _name_server(root)
    with socket.socket() as other:
        other.bind(("127.0.0.1", spec.port))
        other.listen()
        assert driver.look(spec).presence is Presence.FOREIGN
        with pytest.raises(DriverError, match="not ours"):
            _start(spec, root)
    assert engines_below(root) == {}


def test_a_process_that_ends_at_once_says_why(root: Path) -> None:
    spec = _broker(root)
    driver.write_conf(spec, text_of({**spec.settings, "flushDiskType": "NEVER"}), SECRET)
    with pytest.raises(DriverError, match=r"ended while it started: .*flushDiskType"):
        driver.start(spec, root, "t", 1)
    # What another start printed is not why this one ended.
    assert "flushDiskType" in driver.last_words(spec)
    assert driver.last_words(spec, spec.folder.out.stat().st_size) == "it printed nothing"


def test_a_process_that_cannot_be_begun_says_why(root: Path) -> None:
    spec = _name_server(root)
    driver.write_conf(spec, text_of(spec.settings), {})
    spec.folder.pid.with_name("pid.json.new").mkdir()
    with pytest.raises(DriverError, match=r"namesrv-1 was not started: .*pid\.json\.new: Is a directory$"):
        driver.start(spec, root, "t", 1)
    assert driver.look(spec).presence is Presence.ABSENT


def test_a_reason_on_a_full_disk_says_what_to_do(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert disk_room.little_room(root) == ""
    monkeypatch.setattr(disk_room, "LITTLE_BYTES", 1 << 62)
    spec = _broker(root)
    driver.write_conf(spec, text_of({**spec.settings, "flushDiskType": "NEVER"}), SECRET)
    with pytest.raises(DriverError, match=r"flushDiskType.*; its disk has \d+ KB left: free space there"):
        driver.start(spec, root, "t", 1)


def test_a_file_that_is_not_written_leaves_nothing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "broker.conf"
    write_if_changed(path, "a=1\n")

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    write_if_changed(path, "a=1\n")
    with pytest.raises(OSError, match=r"No space left on device: '.*broker\.conf'"):
        write_if_changed(path, "a=2\n")
    assert [each.name for each in tmp_path.iterdir()] == ["broker.conf"]
    assert path.read_text() == "a=1\n"


def test_a_release_that_is_not_installed_is_named(root: Path) -> None:
    spec = _name_server(root)
    other = ProcessSpec(
        *(getattr(spec, name) for name in ("kind", "label", "address", "port", "folder")), "9.9", {}
    )
    driver.write_conf(other, "", {})
    with pytest.raises(DriverError, match=r"release 9\.9 is not installed"):
        driver.start(other, root, "t", 1)


def test_a_release_that_does_not_know_administration_is_not_started_with_it(root: Path) -> None:
    python = root / "releases" / "old" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text("#!/bin/sh\necho 0.1.0\n")
    python.chmod(0o700)
    about = [getattr(_name_server(root), name) for name in ("kind", "label", "address", "port", "folder")]
    spec = ProcessSpec(*about, "old", {"signalboxAccessControl": "administration"})
    driver.write_conf(spec, "", {})
    with pytest.raises(DriverError, match=r"release old is signalbox 0\.1\.0, which does not know access"):
        driver.start(spec, root, "t", 1)
    assert not spec.folder.out.exists(), "nothing was run"


def test_two_launchers_at_once_start_one_process(root: Path) -> None:
    spec = _name_server(root)
    driver.write_conf(spec, text_of(spec.settings), {})
    threads = [threading.Thread(target=driver.start, args=(spec, root, f"t{n}", 1)) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [len(each) for each in engines_below(root).values()] == [1]
    driver.stop(spec)


def test_a_lower_fence_is_refused_and_a_held_one_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "fence"
    with fences.hold(path, 5, waits=True), pytest.raises(fences.Busy), fences.hold(path, 6, waits=False):
        pass
    with pytest.raises(fences.Outdated), fences.hold(path, 4, waits=True):
        pass
    with fences.hold(path, 5, waits=True):
        pass


def test_the_lock_of_a_killed_worker_is_free_again(tmp_path: Path) -> None:
    path = tmp_path / "fence"
    code = (
        "import fcntl,os,sys,time; h=os.open(sys.argv[1],os.O_RDWR|os.O_CREAT); "
        "fcntl.flock(h,fcntl.LOCK_EX); os.write(h,b'7'); print('held',flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE) as worker:
        assert worker.stdout is not None and worker.stdout.readline() == b"held\n"
        with pytest.raises(fences.Busy), fences.hold(path, 8, waits=False):
            pass
        worker.kill()
    with fences.hold(path, 8, waits=False):
        pass


@pytest.mark.parametrize("name", ["..", "a/b", "", ".hidden", "a\0b", "a" * 200, "x..y"])
def test_names_that_could_lead_elsewhere_become_no_path(name: str) -> None:
    with pytest.raises(UnsafeName):
        part(name)


def test_kept_data_is_moved_and_other_data_removed(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "c", 1, "broker-a-0")
    folder.make()
    (folder.path / "store").mkdir()
    kept = remove(folder, keeps_data=True, stamp="1")
    assert kept is not None and (kept / "store").is_dir() and not folder.path.exists()
    assert remove(folder, keeps_data=True, stamp="1") is None


def test_no_override_wins_over_what_identifies_a_broker(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "c", 1, "broker-a-1")
    conf = BrokerConf(
        "C", "broker-a", 1, "safe", {"brokerId": "0", "brokerRole": "SYNC_MASTER"}, "10.0.0.1", 10911,
        folder.path, folder.secrets, ["10.0.0.9:9876"], "on",
    )  # fmt: skip
    settings = broker_settings(conf)
    assert (settings["brokerId"], settings["brokerRole"]) == ("1", "SLAVE")
    secrets = secret_lines(
        {"inner_key": "k", "inner_secret": "s", "access_key": "a", "secret_key": "b"}, is_broker=True
    )
    assert not {"s", "b"} & set(settings.values()), "no secret is in the open part"
    assert json.loads(secrets["initAuthenticationUser"]) == {"username": "a", "password": "b"}
