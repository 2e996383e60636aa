"""SQL92 filters: ours against Apache's own, and Java consumers that subscribe by them."""

from __future__ import annotations

import random
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.errors import Refused
from engine.protocol.sql92.parser import parse

from .apache import java_command, prepare_home
from .java_client import JavaClient, JavaError
from .received import Message, bodies, numbered, read_all
from .test_java_consumes import push_consumer

pytestmark = pytest.mark.needs_maven
Fresh = Callable[[str], str]

NAMES = ("a", "b", "_c")
TEXTS = ("x", "xy", "5", "5.0", "-3", " 7", "true", "FALSE", "3000000000", "it's", "1e3", "5f", "")
ATOMS = (
    *NAMES, "5", "-3", "2.5", ".5", "5.", "1E3", "3000000000", "0", "07", "TRUE", "FALSE", "NULL", "'x'",
    "''", "'it''s'", "'5'", "'true'", "5L", "--5", "(a)", "(b > 5)", "(a = 'x')",
)  # fmt: skip
COUNT = 6_000
HEARTBEAT_TIMEOUT_S = 45


def answer_of_ours(expression: str, properties: dict[str, str]) -> str:
    try:
        compiled = parse(expression)
    except Refused:
        return "refused"
    try:
        value = compiled.evaluate(properties)
    except ValueError:
        return "error"
    return {True: "true", False: "false", None: "null"}[value]


def condition(draw: random.Random) -> str:
    """Mostly right, sometimes nonsense. Never a bare property: there we differ from Apache, as documented."""
    left, right, more = (draw.choice(ATOMS) for _ in range(3))
    name, text = draw.choice(NAMES), draw.choice(TEXTS).replace("'", "''")
    negated = draw.choice(("", "NOT "))
    return draw.choice(
        (
            f"{left} {draw.choice(('=', '<>'))} {right}",
            f"{left} {draw.choice(('<', '<=', '>', '>='))} {right}",
            f"{left} IS {negated}NULL",
            f"{left} {negated}BETWEEN {right} AND {more}",
            f"{name} {negated}IN ('{text}', 'x')",
            f"{name} {negated}{draw.choice(('CONTAINS', 'STARTSWITH', 'ENDSWITH'))} '{text}'",
            f"{left} = {right} = {more}",
            f"NOT ({left} = {right})",
        )
    )


def expression_of(draw: random.Random) -> str:
    parts = [condition(draw) for _ in range(draw.choice((1, 1, 2, 3)))]
    return "".join(
        f"{draw.choice((' AND ', ' OR ', ' and not '))}({part})" if number else f"({part})"
        for number, part in enumerate(parts)
    )


def test_our_filter_answers_as_apaches_does(tmp_path: Path) -> None:
    draw = random.Random(20_240_613)
    cases = [
        (
            expression_of(draw) if draw.random() < 0.5 else condition(draw),
            {name: text for name in NAMES if draw.random() < 0.7 and (text := draw.choice(TEXTS))},
        )
        for _ in range(COUNT)
    ]
    lines = [
        "\t".join([expression, *(f"{key}={value}" for key, value in properties.items())])
        for expression, properties in cases
    ]
    environment = prepare_home(tmp_path)
    done = subprocess.run(
        java_command("server-5", "signalbox.interop.FilterOracle", tmp_path),
        input="\n".join(lines) + "\n",
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
        env=environment,
    )
    theirs = done.stdout.splitlines()
    ours = [answer_of_ours(expression, properties) for expression, properties in cases]
    different = [(*case, a, b) for case, a, b in zip(cases, theirs, ours, strict=True) if a != b]
    assert different == []
    assert all(theirs.count(answer) > 100 for answer in ("true", "false", "null", "error", "refused"))


def test_a_java_consumer_gets_what_its_expression_wants(java: JavaClient, fresh: Fresh) -> None:
    topic, group = fresh("sql"), fresh("group")
    java.do("send-sync", topic=topic, count=20, prefix="m", tag="t")
    wanted = "n BETWEEN 5 AND 7 OR (TAGS = 't' AND n IN ('1', '19')) AND word IS NOT NULL"
    with push_consumer(java, fresh("consumer"), topic=topic, group=group, sql=wanted) as name:
        received = java.do("push-wait", name=name, count=5)
        java.do("send-sync", topic=topic, count=20, prefix="later", tag="other")
        received = java.do("push-wait", name=name, count=8)
    expected = [f"m-{n}" for n in (1, 5, 6, 7, 19)] + [f"later-{n}" for n in (5, 6, 7)]
    assert bodies(received) == sorted(expected)


def test_a_java_reader_gets_what_its_expression_wants(java: JavaClient, fresh: Fresh) -> None:
    """Each pull brings its own expression, without a group that the broker knows."""
    topic = fresh("sql")
    for tag in ("TagA", "TagB", "TagC"):
        java.do("send-sync", topic=topic, count=16, prefix=tag, tag=tag)
    read_all(java, topic, 48)
    wanted = "(TAGS is not null and TAGS in ('TagA', 'TagB'))"
    assert bodies(read_by_sql(java, topic, wanted)) == numbered("TagA", 16) + numbered("TagB", 16)


def read_by_sql(java: JavaClient, topic: str, wanted: str) -> list[Message]:
    """4.9's reader knows the broker's version, and so that it may ask, from its next heartbeat on."""
    deadline = time.monotonic() + HEARTBEAT_TIMEOUT_S
    while True:
        try:
            found: list[Message] = java.do("read-all", topic=topic, sql=wanted)
            return found
        except JavaError as refusal:
            if "does not upgrade" not in str(refusal) or time.monotonic() > deadline:
                raise
            time.sleep(1)


def test_a_java_consumer_is_told_that_its_expression_is_wrong(java: JavaClient, fresh: Fresh) -> None:
    topic = fresh("sql")
    java.do("send-sync", topic=topic)
    with pytest.raises(JavaError):
        java.do("push-start", name=fresh("consumer"), topic=topic, group=fresh("group"), sql="n > 'x'")
