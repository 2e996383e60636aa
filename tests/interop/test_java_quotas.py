"""Java's clients over a quota: slowed down, never failed, and nothing is lost."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.engine.client.servers import start_broker, start_name_server

from .jars import CLIENT_VERSIONS
from .java_client import JavaClient
from .received import bodies, numbered

pytestmark = pytest.mark.needs_maven


@pytest.mark.parametrize("version", CLIENT_VERSIONS)
def test_java_is_slowed_down_and_fails_nothing(
    version: str, tmp_path: Path, fresh: Callable[[str], str]
) -> None:
    quotas = {"signalboxTopicRequestsPerSecond": "20", "signalboxGroupBytesPerSecond": "4000"}
    topic, name = fresh("quota"), fresh("pusher")
    with contextlib.ExitStack() as stack:
        name_server = start_name_server(tmp_path)
        stack.callback(name_server.stop)
        stack.callback(start_broker(tmp_path, name_server.address, **quotas).stop)
        java = JavaClient(version, name_server.address, tmp_path / "java")
        stack.callback(java.close)
        java.do("send-sync", topic=topic, count=1, prefix="first")
        begun = time.monotonic()
        # Not one of these may be refused: Java gives up an asynchronous send on the first refusal.
        java.do("send-async", topic=topic, count=50, prefix="async", size=200)
        assert time.monotonic() - begun >= 1.2, "50 at 20 a second, 20 of them at once"
        java.do("send-sync", topic=topic, count=10, prefix="sync")
        begun = time.monotonic()
        java.do("push-start", name=name, topic=topic, group=fresh("group"))
        got = java.do("push-wait", name=name, count=61, timeoutMs=120_000)
        assert bodies_start(got) == sorted(
            numbered("first", 1) + numbered("async", 50) + numbered("sync", 10)
        )
        assert time.monotonic() - begun >= 2.0, "some 20 KB at 4 KB a second, 4 KB of them at once"
        java.do("push-stop", name=name)


def bodies_start(messages: list[dict[str, object]]) -> list[str]:
    """Without what was added to reach a size."""
    return sorted(text.partition(" ")[0] for text in bodies(messages))
