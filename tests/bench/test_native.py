"""The load generator and the echo server: what they count must be right before anything is measured."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from bench.native import Load, Outcome, fill, generate, program
from tests.requirements_probe import need_package

StartEcho = Callable[..., int]


@pytest.fixture
def start_echo() -> Iterator[StartEcho]:
    """An echo server with these options; its port."""
    with ExitStack() as stack:
        need_package("gcc")
        need_package("libc6-dev")

        def start(*options: str) -> int:
            command = [str(program("echo_server")), *options]
            process = stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
            stack.callback(process.kill)
            assert process.stdout is not None
            return int(process.stdout.readline().rpartition(":")[2])

        yield start


def _is_clean(outcome: Outcome) -> bool:
    return outcome.refused == outcome.faults == 0


@pytest.mark.parametrize(
    "load",
    [
        Load("send"),
        Load("send", connections=16, in_flight=1),
        Load("batch", in_flight=4),
        Load("batch", in_flight=128, body_bytes=1024),
        Load("pull", in_flight=4),
    ],
    ids=["sends", "many connections", "batches", "more than sockets hold", "pulls"],
)
def test_every_request_is_answered(start_echo: StartEcho, load: Load) -> None:
    outcome = generate(start_echo(), load, seconds=0.3, warmup_s=0.1)
    assert _is_clean(outcome)
    assert outcome.answered > 1000
    assert 0 < outcome.rate * 0.3 <= outcome.answered
    assert outcome.p50_us <= outcome.p99_us


def test_a_count_is_sent_once(start_echo: StartEcho) -> None:
    outcome = fill(start_echo(), Load("batch", in_flight=4), 5_000)
    assert _is_clean(outcome)
    assert outcome.answered == 5_000


def test_a_count_that_is_refused_comes_to_an_end(start_echo: StartEcho) -> None:
    with pytest.raises(RuntimeError, match="0 of 5000 messages stored"):
        fill(start_echo("--bad-code"), Load("batch", in_flight=4), 5_000)


@pytest.mark.parametrize("connections", [1, 4])
def test_no_more_is_sent_than_the_rate(start_echo: StartEcho, connections: int) -> None:
    load = Load("send", connections=connections, in_flight=16, rate=2_000)
    outcome = generate(start_echo(), load, seconds=0.5, warmup_s=0.1)
    assert _is_clean(outcome)
    assert 1_000 <= outcome.answered <= 1_210


def test_answers_to_other_requests_are_bad(start_echo: StartEcho) -> None:
    outcome = generate(start_echo("--bad-opaque"), Load("send", in_flight=8), seconds=0.1, warmup_s=0)
    assert (outcome.bad, outcome.answered) == (8, 0)


def test_refusals_are_counted_apart(start_echo: StartEcho) -> None:
    outcome = generate(start_echo("--bad-code"), Load("send", in_flight=8), seconds=0.1, warmup_s=0)
    assert outcome.refused > 8
    assert (outcome.answered, outcome.rate, outcome.faults) == (0, 0, 0)


def test_pulled_bodies_must_be_records(start_echo: StartEcho) -> None:
    outcome = generate(start_echo("--bad-records"), Load("pull", in_flight=4), seconds=0.1, warmup_s=0)
    assert outcome.bad > 4
    assert outcome.answered == 0
