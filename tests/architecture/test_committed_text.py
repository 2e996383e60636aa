"""No committed file names a package registry or a path of the machine that it was written on."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.architecture.sources import ROOT, assert_only_excused, committed_files

# Spelled in two halves, so that this file passes its own test.
REGISTRIES = [
    "pypi" + ".org",
    "python" + "hosted.org",
    "registry.npm" + "js.org",
    "registry.yarn" + "pkg.com",
    "repo.maven" + ".apache.org",
    "repo1.maven" + ".org",
    "proxy.golang" + ".org",
    "deb.debian" + ".org",
    "crates" + ".io",
]
MACHINE_PATH = re.compile(r"(?<![\w.$}/-])/(?:wo" + r"rk|ro" + r"ot|tm" + r"p|opt/wh" + r"eels)(?![\w.-])")


def slips(text: str) -> Iterator[str]:
    yield from (host for host in REGISTRIES if host in text)
    yield from (found[0] for found in MACHINE_PATH.finditer(text))


def test_no_committed_file_names_a_registry_or_a_machine_path() -> None:
    found: dict[str, str] = {}
    for name in committed_files():
        text = (ROOT / name).read_bytes().decode("utf-8", errors="replace")
        if named := sorted(set(slips(text))):
            found[name] = f"names {', '.join(named)}"
    assert_only_excused("committed-text", found)


def test_locks_carry_hashes_and_no_address() -> None:
    locks = [name for name in committed_files() if name.startswith("requirements/")]
    assert locks
    for name in locks:
        text = (ROOT / name).read_text()
        assert "--hash=sha256:" in text
        assert not re.findall(r"://|--find-links|--(?:extra-)?index", text)


@pytest.mark.parametrize(
    "text", ["index https://" + REGISTRIES[0], "in /wo" + "rk/main", "open('/tm" + "p/x')"]
)
def test_each_slip_is_seen(text: str) -> None:
    assert list(slips(text))


@pytest.mark.parametrize("text", ["rocketmq.apache.org", "a/work/b", "tests/tmp", "$HOME/root", "/workers"])
def test_ordinary_text_is_let_through(text: str) -> None:
    assert not list(slips(text))
