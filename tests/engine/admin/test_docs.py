"""docs/admin.md lists exactly the commands that exist, with their options."""

from __future__ import annotations

import re
from pathlib import Path

from engine.admin.commands import registered
from engine.admin.main import build_parser

PAGE = Path(__file__).parents[3] / "docs" / "admin.md"


def test_the_page_and_the_commands_agree():
    build_parser()
    rows = re.findall(r"^\| `(\w+)` \| .* \| (.*) \|$", PAGE.read_text(), re.M)
    documented = {name: set(re.findall(r"`-(\w+)`", options)) for name, options in rows}
    assert documented == {
        command.name: {option.short for option in command.options} for command in registered().values()
    }
