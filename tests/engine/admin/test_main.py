"""Help, wrong use, and the command line as a process with its exit codes."""

from __future__ import annotations

import importlib
import os
import pkgutil
import shlex
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import engine.admin
from engine.admin.main import MEANINGS, build_parser, main, registered
from tests.engine.admin.command_line import Names

ROOT = Path(__file__).parents[3]


def process(*arguments: str, **variables: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "engine.admin", *arguments],
        cwd=ROOT,
        env={**os.environ, **variables},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # A shell starts background jobs with SIGINT ignored, and children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def test_every_command_has_help_an_example_that_parses_and_the_exit_codes() -> None:
    for name, command in registered().items():
        parser = build_parser(name)
        assert command.help[0].isupper() and not command.help.endswith(".")
        words = shlex.split(command.example)
        assert words[0] == name
        given = parser.parse_args(words)
        assert command.wrong_use(given) is None, command.example
        help = given.subparser.format_help()
        assert command.example in help
        assert all(text in help for text in MEANINGS.values())


def test_main_imports_every_module_of_commands() -> None:
    commands = set(registered())
    for module in pkgutil.iter_modules(engine.admin.__path__, "engine.admin."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    assert set(registered()) == commands


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["--help"])
    assert stop.value.code == 0
    shown = capsys.readouterr().out
    assert all(f"    {name}" in shown for name in registered())
    assert main([]) == 2
    assert capsys.readouterr().out == shown


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["topiclist"], "error: there is no command 'topiclist': did you mean topicList?\n"),
        (["xyzzy"], "error: there is no command 'xyzzy': engine.admin -h lists the commands\n"),
        (["--json"], "error: unrecognized arguments: --json (see engine.admin -h)\n"),
        (["sendMessage", "-t", "x", "-p", "\udcff"], "error: the argument '\\udcff' is not UTF-8\n"),
    ],
)
def test_what_is_no_command_is_one_line(
    capsys: pytest.CaptureFixture[str], words: list[str], error: str
) -> None:
    assert main(words) == 2
    assert capsys.readouterr() == ("", error)


def test_the_process_exits_with_the_documented_codes(servers: Names) -> None:
    silent = socket.create_server(("127.0.0.1", 0))
    waiting = process("topicList", "-n", f"127.0.0.1:{silent.getsockname()[1]}", "--timeout", "60000")
    done = process("topicClusterList", "-t", "TBW102", "-n", servers["namesrv"])
    failed = process("topicRoute", "-t", "nothing-here", NAMESRV_ADDR=servers["namesrv"])
    usage = process("topicRoute")
    assert done.communicate(timeout=60) == ("Cluster\nAdminCluster\n", "")
    error = "error: TOPIC_NOT_EXIST (17): no broker has the topic nothing-here\n"
    assert failed.communicate(timeout=60) == ("", error)
    required = "the following arguments are required: -t/--topic"
    assert usage.communicate(timeout=60) == ("", f"error: {required} (see engine.admin topicRoute -h)\n")
    silent.settimeout(60)
    with silent, silent.accept()[0] as connection:
        assert connection.recv(1)
        waiting.send_signal(signal.SIGINT)
        assert waiting.communicate(timeout=60) == ("", "")
    assert [each.returncode for each in (done, failed, usage, waiting)] == [0, 1, 2, 130]


def test_a_reader_that_has_read_enough_is_no_error(servers: Names) -> None:
    command = f"{sys.executable} -m engine.admin topicList -n {servers['namesrv']} | head -1"
    done = subprocess.run(command, shell=True, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "Topic\n", "")
