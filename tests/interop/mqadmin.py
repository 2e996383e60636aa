"""Apache's own ``mqadmin`` (rocketmq-tools) in one warm JVM, and its tables read back as rows.

shell = AdminShell("5", name_server, home)
shell.run("topicRoute", "-t", "orders")
"""

from __future__ import annotations

import base64
from pathlib import Path

from .apache import java_command, prepare_home
from .processes import DiedEarly, Shell

SHELL_CLASS = "signalbox.interop.AdminShell"


class UsageError(ValueError):
    """mqadmin did not accept these arguments."""


class AdminShell:
    def __init__(self, version: str, name_server: str, home: Path) -> None:
        home.mkdir(parents=True, exist_ok=True)
        self.version = version
        self._name_server = name_server
        self._home = home
        self._shell = self._start()

    def _start(self) -> Shell:
        command = java_command(f"server-{self.version}", SHELL_CLASS, self._home)
        shell = Shell(command, self._home / f"mqadmin-{self.version}.log", prepare_home(self._home))
        shell.hear()
        return shell

    def run(self, command: str, *arguments: str) -> str:
        """What the command printed, errors included. A usage error ends the JVM: the next gets a new one."""
        self._shell.tell("\t".join((command, "-n", self._name_server, *arguments)))
        try:
            return base64.b64decode(self._shell.hear()).decode()
        except DiedEarly as death:
            self._shell = self._start()
            raise UsageError(f"{command} {' '.join(arguments)}") from death

    def rows(self, command: str, *arguments: str) -> list[dict[str, str]]:
        """The rows of a table whose header line starts with ``#``."""
        return table(self.run(command, *arguments))

    def close(self) -> None:
        self._shell.close()


def table(text: str) -> list[dict[str, str]]:
    """Rows of mqadmin's tables, whose headers start with ``#`` and whose cells hold no spaces."""
    header: list[str] | None = None
    rows = []
    for line in text.splitlines():
        cells = line.split()
        if line.startswith("#"):
            header = [name.lstrip("#") for name in line.replace(" #", "#").split("#") if name]
            header = [name.strip() for name in header]
        elif header and cells:
            rows.append(dict(zip(header, cells, strict=False)))
    return rows
