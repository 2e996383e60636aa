"""The documents list exactly the outcomes that a handler may return."""

import re
from pathlib import Path
from typing import get_args

from engine.net import outcomes

_DOCS = Path(__file__).parents[3] / "docs"
_NAMES = {"EncodedReply" if kind is bytes else kind.__name__ for kind in get_args(outcomes.Outcome)}


def test_the_table_of_the_architecture_page_has_every_outcome():
    section = (_DOCS / "architecture.md").read_text().split("## The outcomes")[1].split("\n## ")[0]
    assert set(re.findall(r"^\| `(\w+)", section, re.M)) == _NAMES


def test_the_decision_names_every_outcome():
    text = (_DOCS / "adr" / "0002-layers-and-outcomes.md").read_text()
    named = re.search(r"closed set \((.*?)\)", text)
    assert named is not None
    assert set(re.findall(r"`(\w+)`", named[1])) == _NAMES


def test_the_docstring_explains_every_outcome():
    assert outcomes.__doc__ is not None
    assert set(re.findall(r"^    (\w+) ", outcomes.__doc__, re.M)) == _NAMES
