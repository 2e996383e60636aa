"""Whose topics and groups are: labels from a file, or word by word.

    --labels FILE                {"topics": {"orders": "shop", "pay-*": "money"}, "groups": {"bill": "money"}}
    --label topic:orders=shop    --label group:billing=money

A name or a pattern with `*`. What is said on the command line goes before the file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

from engine.errors import BadInput

__all__ = ["read_labels"]

_WORD = re.compile(r"(topic|group):([^=]+)=(.+)")
_MEMBERS = {"topics": "topic", "groups": "group"}


def read_labels(words: Sequence[str], file: Path | None) -> list[tuple[str, str, str]]:
    """Kind, pattern and team, one of each kind and pattern."""
    found: dict[tuple[str, str], str] = {}
    if file is not None:
        found.update(_from_file(file))
    for word in words:
        match = _WORD.fullmatch(word)
        if match is None:
            raise BadInput(f"--label {word!r} is not topic:NAME=TEAM or group:NAME=TEAM")
        found[match[1], match[2]] = match[3]
    return [(kind, pattern, team) for (kind, pattern), team in found.items()]


def _from_file(file: Path) -> dict[tuple[str, str], str]:
    try:
        said = json.loads(file.read_bytes())
    except OSError as error:
        raise BadInput(f"--labels {file}: {error.strerror}") from None
    except ValueError:
        raise BadInput(f"--labels {file}: not JSON") from None
    if not isinstance(said, dict) or not said.keys() <= _MEMBERS.keys():
        raise BadInput(f"--labels {file}: not an object of topics and groups")
    found: dict[tuple[str, str], str] = {}
    for member, teams in said.items():
        if not isinstance(teams, dict) or not all(isinstance(team, str) for team in teams.values()):
            raise BadInput(f"--labels {file}: {member} is not an object of names and teams")
        found.update({(_MEMBERS[member], pattern): team for pattern, team in teams.items()})
    return found
