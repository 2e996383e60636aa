"""The official Java client behind a pipe: commands by keyword, answers as plain values.

    client = JavaClient("5", name_server, home)
    client.do("send-sync", topic="orders", count=3)

One JVM serves a whole session of scenarios. ``begin`` and ``finish`` split a command from its answer, for
scenarios in which two things happen at once.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from .apache import java_command, prepare_home
from .processes import Shell

DRIVER_CLASS = "signalbox.interop.Driver"


class JavaError(RuntimeError):
    """The client threw; the text is the exception's."""


class JavaClient:
    def __init__(
        self, version: str, name_server: str, home: Path, properties: Mapping[str, str] | None = None
    ) -> None:
        """`properties` are the JVM's, which is where RocketMQ's clients look for some of their settings."""
        home.mkdir(parents=True, exist_ok=True)
        self.version = version
        java, *arguments = java_command(f"client-{version}", DRIVER_CLASS, home)
        settings = [f"-D{key}={value}" for key, value in (properties or {}).items()]
        command = [java, *settings, *arguments, name_server]
        self._shell = Shell(command, home / f"client-{version}.log", prepare_home(home))
        self._ids = itertools.count(1)
        self._answers: dict[int, dict[str, Any]] = {}
        self.finish(0)

    def do(self, verb: str, **options: object) -> Any:
        return self.finish(self.begin(verb, **options))

    def begin(self, verb: str, **options: object) -> int:
        number = next(self._ids)
        self._shell.tell(f"{number} {verb} {urlencode({key: str(value) for key, value in options.items()})}")
        return number

    def finish(self, number: int) -> Any:
        while number not in self._answers:
            answer = json.loads(self._shell.hear())
            self._answers[answer["id"]] = answer
        answer = self._answers.pop(number)
        if not answer["ok"]:
            raise JavaError(answer["error"])
        return answer["value"]

    def kill(self) -> None:
        """The client's machine is gone: nothing is said to anybody."""
        self._shell.kill()

    def close(self) -> None:
        self._shell.close()
