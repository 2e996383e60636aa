"""Every command on a real name server, broker and broker group: its table by column, its JSON, its effect,
and its failures: one line, the right exit code, no traceback. A command without a case fails."""

from __future__ import annotations

import itertools
import json
import re
from typing import Any

import pytest

from engine.admin.main import registered
from engine.admin.result_printer import json_key, printable
from engine.client import blocking
from engine.protocol.bodies.groups import MessageRequestMode
from tests.engine.admin.cases import BAD, GOOD
from tests.engine.admin.cases.case import Bad, Effect, Good
from tests.engine.admin.command_line import CommandLine, Names, contains, read_facts, read_table
from tests.engine.admin.conftest import until

COMMANDS = sorted(registered())
NOBODY = "127.0.0.1:1"
_numbers = itertools.count(1)


def each(cases: dict[str, list[Any]]) -> list[Any]:
    return [
        pytest.param(name, case, id=f"{name} {case.arguments}".strip())
        for name, some in cases.items()
        for case in some
    ]


def is_change(case: Good) -> bool:
    return bool(case.says or case.shows or case.hides) and not case.is_open


def fill(template: Any, names: Names) -> Any:
    """`{names}` in texts, and in the keys and members of objects and lists."""
    if isinstance(template, str):
        return re.sub(r"\{(\w+)\}", lambda found: names[found[1]], template)
    if isinstance(template, dict):
        return {fill(key, names): fill(value, names) for key, value in template.items()}
    return [fill(value, names) for value in template] if isinstance(template, list) else template


def test_every_command_has_good_and_bad_cases() -> None:
    assert COMMANDS == sorted(GOOD) == sorted(BAD)
    assert all(GOOD.values()) and all(BAD.values())


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize(("name", "case"), each(GOOD))
def test_a_command_prints_and_does(
    command_line: CommandLine, stage: Names, name: str, case: Good, form: str
) -> None:
    names = stage | {"new": f"new-{next(_numbers)}"}
    for line in case.before:
        command_line.done(fill(line, names))
    until(lambda: all(is_shown(command_line, effect, names) for effect in case.ready))
    assert not (case.shows and is_shown(command_line, case.shows, names))
    assert not (case.hides and not is_shown(command_line, case.hides, names))
    try:
        line = fill(f"{name} {case.arguments}", names)
        if form == "text":
            check_text(command_line.done(line), case, names)
        else:
            check_json(command_line.json(line), case, names)
        if case.shows:
            until(lambda: is_shown(command_line, case.shows, names))
        assert not (case.hides and is_shown(command_line, case.hides, names))
    finally:
        for line in case.cleanup:
            until(lambda line=line: command_line.run(fill(line, names)).status == 0)
        until(lambda: all(is_shown(command_line, effect, names) for effect in case.ready))


def is_shown(command_line: CommandLine, effect: Effect, names: Names) -> bool:
    outcome = command_line.run(fill(f"{effect.line} --json", names))
    return outcome.status == 0 and contains(outcome.document(), fill(effect.part, names))


def check_text(out: str, case: Good, names: Names) -> None:
    if case.columns:
        row = fill(case.row, names)
        rows = read_table(out, case.columns.split(", "))
        assert not row or any(row.items() <= found.items() for found in rows), out
        assert case.count in (None, len(rows))
    elif case.says:
        pattern = re.escape(fill(case.says, names)).replace(r"\*", ".*")
        assert re.fullmatch(pattern + "\n", out)
    elif case.facts:
        assert fill(case.facts, names).items() <= read_facts(out).items()
    else:
        assert_contains(json_of(out), fill(case.document, names))


def json_of(out: str) -> Any:
    """A document is JSON without --json too; of one thing's facts each value is."""
    return (
        json.loads(out)
        if out.startswith("{")
        else {key: json.loads(value) for key, value in read_facts(out).items()}
    )


def check_json(document: Any, case: Good, names: Names) -> None:
    if case.document is not None:
        assert_contains(document, fill(case.document, names))
    elif case.columns:
        keys = [json_key(column) for column in case.columns.split(", ")]
        assert all(list(found) == keys for found in document)
        row = {json_key(column): cell for column, cell in fill(case.row, names).items()}
        shown = [{key: printable(value) for key, value in found.items()} for found in document]
        assert not row or any(row.items() <= found.items() for found in shown), document
        assert case.count in (None, len(document))
    else:
        shown = [{key: printable(value) for key, value in document.items()}]
        assert any(fill(case.facts, names).items() <= found.items() for found in shown)


def assert_contains(document: Any, expected: Any) -> None:
    assert contains(document, expected), (expected, document)


@pytest.mark.parametrize(("name", "case"), each(BAD))
def test_bad_arguments_are_one_line_and_an_exit_code(
    command_line: CommandLine, stage: Names, name: str, case: Bad
) -> None:
    outcome = command_line.run(fill(f"{name} {case.arguments}", stage))
    assert case.error in outcome.error()
    assert outcome.status == case.status


@pytest.mark.parametrize("name", COMMANDS)
def test_missing_and_unknown_options_are_wrong_use(command_line: CommandLine, name: str) -> None:
    command = registered()[name]
    needed = [option.name for option in command.options if option.required] + list(command.one_of)
    for line in [f"{name} --nonsense", *([name] if needed else [])]:
        outcome = command_line.run(line)
        assert outcome.status == 2
        error = outcome.error()
        assert f"(see engine.admin {name} -h)" in error
    assert not needed or any(f"--{option}" in error for option in needed)


@pytest.mark.parametrize("name", COMMANDS)
def test_servers_that_do_not_answer_are_named(name: str, command_line: CommandLine, stage: Names) -> None:
    nobody = dict.fromkeys(("namesrv", "broker", "master", "slave"), NOBODY)
    for case in GOOD[name]:
        line = fill(f"{name} {case.arguments}", stage | nobody | {"new": "new"})
        outcome = CommandLine(NOBODY, command_line.credentials).run(line)
        assert f"cannot connect to {NOBODY}: Connection refused" in outcome.error()
        assert outcome.status == 1


@pytest.mark.parametrize(
    ("name", "case"),
    each({name: [case for case in cases if is_change(case)] for name, cases in GOOD.items()}),
)
def test_changes_without_credentials_are_refused(
    command_line: CommandLine, stage: Names, name: str, case: Good
) -> None:
    names = stage | {"new": f"new-{next(_numbers)}"}
    for line in case.before:
        command_line.done(fill(line, names))
    outcome = command_line.run(fill(f"{name} {case.arguments} --unsigned", names))
    assert "NO_PERMISSION (16)" in outcome.error()
    assert outcome.status == 1


@pytest.mark.parametrize(
    "line",
    [
        "deleteTopic -t nothing-here -c {cluster}",
        "deleteSubGroup -g nobody -c {cluster}",
        "deleteUser -u nobody -b {broker}",
        "deleteKvConfig -s nowhere -k nothing",
    ],
)
def test_a_deletion_may_be_repeated(command_line: CommandLine, stage: Names, line: str) -> None:
    assert "success" in command_line.done(fill(line, stage))


def test_a_consume_mode_is_set(command_line: CommandLine, stage: Names) -> None:
    """The one effect that no command shows."""
    broker = stage["broker"]
    command_line.done(f"setConsumeMode -b {broker} -t orders -g billing -m POP -q 3")
    with blocking.Admin(namesrv=stage["namesrv"]) as admin:
        mode = admin.groups.request_modes(broker)["orders"]["billing"]
    assert (mode.mode, mode.pop_share_queue_num) == (MessageRequestMode.POP, 3)
