"""docs/admin.md lists exactly the commands that exist, with their help and options, and the exit codes."""

from __future__ import annotations

import re
from pathlib import Path

from engine.admin.main import MEANINGS, registered

PAGE = (Path(__file__).parents[3] / "docs" / "admin.md").read_text()


def test_the_page_and_the_commands_agree() -> None:
    documented = re.findall(r"^\| `(\w+)` \| (.*) \| (.*) \|$", PAGE, re.M)
    assert documented == [
        (command.name, command.help, " ".join(f"`-{option.short}`" for option in command.options))
        for command in registered().values()
    ]


def test_the_page_has_the_exit_codes() -> None:
    documented = re.findall(r"^\| (\d+) \| (.*) \|$", PAGE, re.M)
    assert documented == [(str(int(code)), text) for code, text in MEANINGS.items()]
