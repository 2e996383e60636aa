"""How results look: in a pipe, on a terminal, as JSON."""

from __future__ import annotations

import io
import json
import re

import pytest

from engine.admin.result_printer import ResultPrinter, json_key, printable
from engine.admin.results import Document, Facts, Result, Table
from engine.client import MessageQueue

TABLE = Table(("Name", "Used Size"), [("a", 1), ("long-name", 22)], ("a note",))


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def printed(result: Result, out: io.StringIO | None = None, *, as_json: bool = False) -> str:
    out = out or io.StringIO()
    ResultPrinter(out, as_json=as_json).print(result)
    return out.getvalue()


def test_tables_are_aligned_in_a_pipe_and_drawn_on_a_terminal() -> None:
    assert printed(TABLE) == "Name       Used Size\na          1\nlong-name  22\na note\n"
    lines = re.sub("\x1b\\[[0-9;]*m", "", printed(TABLE, Terminal())).splitlines()
    assert [line.split() for line in lines] == [
        ["Name", "Used", "Size"],
        ["a", "1"],
        ["long-name", "22"],
        ["a", "note"],
    ]
    assert lines[1].endswith(" 1"), "numbers are aligned to the right"


def test_a_table_is_a_list_of_objects_in_json() -> None:
    assert json.loads(printed(TABLE, as_json=True)) == [
        {"name": "a", "used_size": 1},
        {"name": "long-name", "used_size": 22},
    ]
    assert printed(Table(("Name",), []), as_json=True) == "[]\n"
    assert printed(Table(("Name", "Size"), [])) == "Name  Size\n"
    assert json_key("In TPS") == "in_tps"


def test_a_result_may_have_a_document_of_its_own() -> None:
    queue = MessageQueue("orders", "broker-a", 1)
    for result in (
        Table(("Name",), [("a",)], document={queue: {1: (2, None)}}),
        Facts({"a": 1}, document={queue: {1: (2, None)}}),
        Document({queue: {1: (2, None)}}),
    ):
        assert json.loads(printed(result, as_json=True)) == {"orders@broker-a@1": {"1": [2, None]}}


def test_facts_are_a_line_or_a_line_each() -> None:
    assert printed(Facts({"a": 1}, "done")) == "done\n"
    assert json.loads(printed(Facts({"a": 1}, "done"), as_json=True)) == {"a": 1}
    assert printed(Facts({"a": 1, "long": None})) == "a    : 1\nlong : -\n"
    assert printed(Facts({})) == ""


def test_a_document_is_json_for_people_too() -> None:
    assert printed(Document({"a": [1]})) == '{\n  "a": [\n    1\n  ]\n}\n'


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (0.125, "0.12"),
        (True, "true"),
        ({"type": "CUSTOMIZED", 1: [None]}, '{"type":"CUSTOMIZED","1":[null]}'),
        ((1, "a"), '[1,"a"]'),
        ("\x1b[2Jgone\nforged : line", "\\x1b[2Jgone\\nforged : line"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("grün 日本", "grün 日本"),
    ],
)
def test_a_value_is_one_line_that_cannot_forge_another(value: object, text: str) -> None:
    assert printable(value) == text
    assert printed(Table(("V",), [(value,)])) == f"V\n{text}\n"
    assert text in printed(Table(("V",), [(value,)]), Terminal())
    assert printed(Facts({"V": value})) == f"V : {text}\n"
