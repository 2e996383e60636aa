"""`python -m engine.broker` as an operator runs it."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from engine.broker.main import log_directory, main, read_options
from engine.broker.settings.options import load_options
from engine.errors import BadInput

CONF = "brokerName=broker-a\nlistenPort=0\nbrokerIP1=127.0.0.1\nmappedFileSizeCommitLog=8388608\n"


def write_conf(folder: Path, text: str = CONF) -> Path:
    path = folder / "broker.conf"
    path.write_text(f"{text}storePathRootDir={folder / 'store'}\n")
    return path


def test_the_process_says_when_it_is_ready_and_ends_cleanly(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "engine.broker", "-c", str(write_conf(tmp_path))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
    assert line.startswith("broker broker-a ready on 127.0.0.1:")
    assert not (tmp_path / "store" / "abort").exists()
    assert (tmp_path / "logs" / "broker-a_0" / "broker.log").exists()


def test_a_bad_value_ends_the_start_with_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["-c", str(write_conf(tmp_path, "listenPort=abc\n"))])
    assert ended.value.code == 2
    assert "listenPort=abc is not allowed" in capsys.readouterr().err
    assert not (tmp_path / "store").exists()


def test_all_options_are_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-c", str(write_conf(tmp_path)), "-n", "10.0.0.1:9876", "-p"]) == 0
    printed = capsys.readouterr().out
    assert "brokerName=broker-a\n" in printed
    assert "namesrvAddr=10.0.0.1:9876\n" in printed


def test_a_file_that_is_not_there_is_named() -> None:
    with pytest.raises(BadInput, match=r"nowhere\.conf"):
        read_options("nowhere.conf", None)


def test_logs_lie_beside_the_store_unless_told(tmp_path: Path) -> None:
    options = read_options(str(write_conf(tmp_path)), None)
    assert log_directory(options) == tmp_path / "logs" / "broker-a_0"
    options = read_options(str(write_conf(tmp_path, CONF + f"logDir={tmp_path / 'elsewhere'}\n")), None)
    assert log_directory(options) == tmp_path / "elsewhere"


def test_two_brokers_beside_each_other_have_logs_of_their_own(tmp_path: Path) -> None:
    names = ("broker-a", "broker-b")
    texts = [f"brokerName={name}\nstorePathRootDir={tmp_path / name}\n" for name in names]
    assert len({log_directory(load_options(text)) for text in texts}) == 2


def test_the_log_tells_of_start_and_stop(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "engine.broker", "-c", str(write_conf(tmp_path))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline().strip()
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
    text = (tmp_path / "logs" / "broker-a_0" / "broker.log").read_text()
    assert line in text
    assert "stopping" in text
    assert "stopped" in text


def test_name_servers_come_from_the_environment_unless_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NAMESRV_ADDR", "10.0.0.1:9876")
    assert read_options(str(write_conf(tmp_path)), None).namesrv_addr == "10.0.0.1:9876"
    told = str(write_conf(tmp_path, CONF + "namesrvAddr=10.0.0.2:9876\n"))
    assert read_options(told, None).namesrv_addr == "10.0.0.2:9876"
    assert read_options(told, "10.0.0.3:9876").namesrv_addr == "10.0.0.3:9876"


@pytest.mark.parametrize(("store", "logs", "code"), [("file/store", "logs", 1), ("store", "file/logs", 2)])
def test_a_folder_that_cannot_be_used_ends_the_start_with_a_line(
    tmp_path: Path, store: str, logs: str, code: int
) -> None:
    (tmp_path / "file").write_text("in the way")
    conf = tmp_path / "broker.conf"
    conf.write_text(f"{CONF}storePathRootDir={tmp_path / store}\nlogDir={tmp_path / logs}\n")
    command = [sys.executable, "-m", "engine.broker", "-c", str(conf)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    assert done.returncode == code
    said = done.stdout + done.stderr
    assert "Not a directory" in said
    assert str(tmp_path / "file") in said
    assert "Traceback" not in said
