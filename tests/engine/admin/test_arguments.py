"""Arguments: what each type takes, and the one line that refuses the rest."""

from __future__ import annotations

import argparse

import pytest

from engine.admin.arguments import (
    attribute_changes,
    comma_list,
    count,
    id_number,
    number,
    queue_counts,
    queue_offset,
    shown_time,
    timestamp,
    truth,
    whole_number,
)
from engine.admin.commands import Arguments, Command, Option


@pytest.mark.parametrize(
    ("parse", "text", "value"),
    [
        (truth, "TRUE", True),
        (truth, "false", False),
        (number(-5, 5), "-5", -5),
        (number(-5, 5), "+5", None),
        (number(-5, 5), "6", None),
        (number(-5, 5), "²", None),
        (number(-5, 5), "--5", None),
        (number(-5, 5), "", None),
        (whole_number, "-1", -1),
        (count, "1", 1),
        (count, "0", None),
        (id_number, "0", 0),
        (id_number, "2147483648", None),
        (queue_offset, "9223372036854775807", 9223372036854775807),
        (queue_offset, "9223372036854775808", None),
        (truth, "yes", None),
        (comma_list, " a,b , ", ["a", "b"]),
        (comma_list, " , ", None),
        (attribute_changes, "+a=b,-c", {"a": "b", "c": None}),
        (attribute_changes, "a", None),
        (queue_counts, "broker-a:4;broker-b:8", "broker-a:4;broker-b:8"),
        (queue_counts, "broker-a", None),
        (queue_counts, ":4", None),
        (timestamp, "1700000000000", 1_700_000_000_000),
        (timestamp, "-1", -1),
        (timestamp, "99999999999999999999", None),
        (timestamp, "9999-99-99", None),
        (timestamp, "", None),
    ],
)
def test_values_and_refusals(parse, text, value) -> None:
    if value is not None:
        assert parse(text) == value
        return
    with pytest.raises(argparse.ArgumentTypeError, match=r"^[^\n]+$"):
        parse(text)


def test_times_are_read_in_mqadmins_forms_and_shown_as_local_time() -> None:
    moment = timestamp("2026-01-31#23:59:59:250")
    assert shown_time(moment) == "2026-01-31 23:59:59,250"
    assert timestamp("20260131235959") == timestamp("2026-01-31 23:59:59") == moment - 250
    assert timestamp("2026-01-31") == timestamp("2026-01-31#00:00:00")
    assert timestamp("now") > moment - 10**12
    assert (shown_time(0), shown_time(-1), shown_time(10**18)) == ("-", "-", "1000000000000000000")


async def never(*_: object) -> None: ...


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"timestamp": None, "offset": None}, "one of --timestamp, --offset is required"),
        ({"timestamp": None, "offset": 0}, None),
        ({"timestamp": 0, "offset": None}, None),
        ({"timestamp": 0, "offset": None, "broker": "b"}, "--broker and --queue go together"),
        ({"timestamp": 0, "offset": None, "broker": "b", "queue": 0}, None),
    ],
)
def test_zero_is_a_value_and_options_may_depend_on_each_other(
    given: dict[str, object], problem: str | None
) -> None:
    names = ("timestamp", "offset", "broker", "queue")
    options = [Option(name[0], name, "", "X") for name in names]
    command = Command("x", "", options, never, "", names[:2], names[2:])
    assert command.wrong_use(Arguments(**dict.fromkeys(names))) is not None
    assert command.wrong_use(Arguments(**(dict.fromkeys(names) | given))) == problem
