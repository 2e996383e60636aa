"""Every example in the client's docstrings and in docs/client.md runs, against a real broker."""

from __future__ import annotations

import asyncio
import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import engine.client
from engine.client import blocking
from engine.client.idempotence import SqliteDedup, idempotent
from engine.protocol.bodies.topics import TopicConfig

PAGE = Path(__file__).resolve().parents[3] / "docs" / "client.md"
NAMES = {name: getattr(engine.client, name) for name in engine.client.__all__}
NAMES |= {"asyncio": asyncio, "blocking": blocking, "TopicConfig": TopicConfig}
NAMES |= {"SqliteDedup": SqliteDedup, "idempotent": idempotent}


def examples() -> list[doctest.DocTest]:
    """The docstrings of engine.client that hold examples."""
    finder = doctest.DocTestFinder(exclude_empty=True)
    found: list[doctest.DocTest] = []
    for module in pkgutil.walk_packages(engine.client.__path__, "engine.client."):
        loaded = importlib.import_module(module.name)
        found += [test for test in finder.find(loaded, module.name, globs={}) if test.examples]
    return found


def run(test: doctest.DocTest, namesrv: str) -> None:
    test.globs = NAMES | {"NAMESRV": namesrv}
    failures: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    runner.run(test, out=failures.append)
    assert not runner.failures, "".join(failures)


@pytest.mark.parametrize("test", examples(), ids=lambda test: test.name)
def test_the_example_runs(test: doctest.DocTest, namesrv: str) -> None:
    run(test, namesrv)


def test_every_public_class_has_an_example() -> None:
    shown = {test.name.rpartition(".")[2] for test in examples()}
    assert {"Producer", "PushConsumer", "LitePullConsumer", "Admin", "Message", "idempotent"} <= shown


def test_the_examples_of_the_page_run(namesrv: str) -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert blocks
    parser = doctest.DocTestParser()
    for number, block in enumerate(blocks):
        run(parser.get_doctest(block, {}, f"client.md {number}", str(PAGE), 0), namesrv)
