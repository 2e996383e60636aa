"""Runs commands in this process, as `python -m engine.admin` would, and reads what they print."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from itertools import pairwise
from typing import Any
from unittest.mock import patch

from engine.admin.credentials import ACCESS_KEY_VARIABLE, SECRET_KEY_VARIABLE
from engine.admin.main import main
from engine.client import Credentials

Names = dict[str, str]


@dataclass(frozen=True, slots=True)
class Outcome:
    status: int
    out: str
    err: str

    def error(self) -> str:
        """The one line of a failure, which prints nothing else."""
        assert self.out == ""
        assert re.fullmatch("error: .+\n", self.err), self.err
        return self.err

    def document(self) -> Any:
        """Commands that read in steps print a list per line: they are put together."""
        documents = [json.loads(line) for line in self.out.splitlines()]
        return documents[0] if len(documents) == 1 else [row for part in documents for row in part]


@dataclass(frozen=True, slots=True)
class CommandLine:
    namesrv: str
    credentials: Credentials

    def run(self, line: str) -> Outcome:
        name, *words = shlex.split(line)
        out, err = io.StringIO(), io.StringIO()
        keys = {
            ACCESS_KEY_VARIABLE: self.credentials.access_key,
            SECRET_KEY_VARIABLE: self.credentials.secret_key,
        }
        with patch.dict(os.environ, keys), redirect_stdout(out), redirect_stderr(err):
            status = main([name, "-n", self.namesrv, *words])
        return Outcome(status, out.getvalue(), err.getvalue())

    def done(self, line: str) -> str:
        outcome = self.run(line)
        assert (outcome.status, outcome.err) == (0, ""), (line, outcome.err)
        return outcome.out

    def json(self, line: str) -> Any:
        outcome = self.run(f"{line} --json")
        assert (outcome.status, outcome.err) == (0, ""), (line, outcome.err)
        return outcome.document()


def read_table(text: str, columns: list[str]) -> list[dict[str, str]]:
    """Rows by column title. Titles begin where their cells begin, so an empty cell is no puzzle. A list that
    is printed in steps repeats its titles; lines below a table come back as rows that match nothing."""
    starts: list[int] = []
    rows = []
    for line in text.splitlines():
        if re.split(" {2,}", line) == columns:
            starts = [0]
            for title, following in pairwise(columns):
                starts.append(line.index(following, starts[-1] + len(title)))
        else:
            assert starts, f"{line!r} comes before the titles {columns}"
            ends = [*starts[1:], len(line)]
            rows.append(
                {
                    title: line[start:end].strip()
                    for title, start, end in zip(columns, starts, ends, strict=True)
                }
            )
    assert starts, f"no titles {columns} in {text!r}"
    return rows


def read_facts(text: str) -> dict[str, str]:
    return {key.rstrip(): value for key, _, value in (line.partition(" : ") for line in text.splitlines())}


def contains(document: Any, expected: Any) -> bool:
    """Objects may have more members than expected; of a list one element has to match."""
    if isinstance(expected, dict):
        if isinstance(document, list):
            return any(contains(element, expected) for element in document)
        return isinstance(document, dict) and all(
            key in document and contains(document[key], value) for key, value in expected.items()
        )
    if isinstance(expected, list) and isinstance(document, list):
        return all(any(contains(element, value) for element in document) for value in expected)
    return bool(document == expected)
