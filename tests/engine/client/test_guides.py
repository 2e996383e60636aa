"""Every example in docs/guides runs, against a real broker, and every guide is listed."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

from tests.engine.client.test_examples import run

FOLDER = Path(__file__).resolve().parents[3] / "docs" / "guides"
PAGES = sorted(page for page in FOLDER.glob("*.md") if page.name != "README.md")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_examples_of_a_guide_run(page: Path, namesrv: str) -> None:
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    parser = doctest.DocTestParser()
    for number, block in enumerate(blocks):
        run(parser.get_doctest(block, {}, f"{page.name} {number}", str(page), 0), namesrv)


def test_every_guide_is_listed_and_every_link_leads_somewhere() -> None:
    listed = re.findall(r"\]\(([\w-]+\.md)\)", (FOLDER / "README.md").read_text(encoding="utf-8"))
    assert sorted(listed) == [page.name for page in PAGES]
    for page in FOLDER.glob("*.md"):
        for link in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / link).exists(), f"{page.name} links to {link}"
