"""Lists of messages that are longer than one pull."""

from __future__ import annotations

import pytest

from engine.client import Message, blocking
from tests.engine.admin.command_line import CommandLine, Names

COUNT = 40
ONE_PULL = 32


@pytest.fixture(scope="module")
def long_topic(servers: Names, command_line: CommandLine) -> str:
    """One queue with more messages than a pull brings; every other one has a tag."""
    command_line.done(f"updateTopic -b {servers['broker']} -t long -r 1 -w 1")
    with blocking.Producer("shop", namesrv=servers["namesrv"]) as producer:
        for number in range(COUNT):
            producer.send(Message("long", b"%d" % number, "even" if number % 2 == 0 else "odd"))
    return "long"


@pytest.mark.parametrize(
    ("line", "offsets"),
    [
        ("printMsg", range(COUNT)),
        ("printMsg -s even", range(0, COUNT, 2)),
        ("printMsgByQueue -a admin-a -i 0 -s odd", range(1, COUNT, 2)),
        ("consumeMessage", range(COUNT)),
        ("consumeMessage -c 35", range(35)),
        (f"consumeMessage -c {ONE_PULL}", range(ONE_PULL)),
        ("consumeMessage -c 3", range(3)),
        ("consumeMessage -b admin-a -i 0 -o 30 -c 5", range(30, 35)),
        ("consumeMessage -b admin-a -i 0 -o 99", range(0)),
    ],
)
def test_every_message_is_listed_once_in_order(
    command_line: CommandLine, long_topic: str, line: str, offsets: range
) -> None:
    rows = command_line.json(f"{line} -t {long_topic}")
    assert [row["offset"] for row in rows] == list(offsets)
    assert [row["body"] for row in rows] == [str(offset) for offset in offsets]


def test_each_pull_is_printed_as_it_comes(command_line: CommandLine, long_topic: str) -> None:
    assert len(command_line.done(f"printMsg -t {long_topic} --json").splitlines()) > 1
    assert len(command_line.done(f"consumeMessage -t {long_topic} -c {ONE_PULL} --json").splitlines()) == 1
