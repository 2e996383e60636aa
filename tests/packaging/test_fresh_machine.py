"""`make setup`, `make up` and `make test` where nothing was ever set up, each as a stranger would call it."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.packaging import dockerfile_steps as steps
from tests.packaging.fresh_machine import PACKAGES, ROOT, Machine, fresh_machine, skips

pytestmark = [pytest.mark.nightly, pytest.mark.needs_chroot, pytest.mark.timeout(6 * 3600)]
MAVEN_OUT_OF_REACH = re.compile(r"needs_maven: Maven Central .*")
PACKAGE_MISSING = re.compile(r".*Debian's package [a-z0-9-]+ is not installed|needs_maven: no \w+ on PATH")

SHORT = re.search(r"^SHORT := (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)[1]  # type: ignore[index]


@pytest.fixture(scope="module")
def debian() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="sbxfresh"))
    folder.chmod(0o755)
    try:
        yield steps.debootstrapped(folder, *PACKAGES)
    finally:
        steps.remove(folder)


@pytest.fixture
def folder(debian: Path) -> Iterator[Path]:
    """Beside it, where other users may go; gone before the next machine is made."""
    made = Path(tempfile.mkdtemp(dir=debian.parent))
    made.chmod(0o755)
    yield made
    steps.remove(made)


def _set_up_and_start(machine: Machine) -> None:
    machine.make("setup")
    print(f"make up was ready after {machine.up_and_down():.0f} s")


def test_as_root_nothing_is_skipped_but_without_maven_central_what_needs_it(
    debian: Path, folder: Path
) -> None:
    with fresh_machine(debian, folder) as machine:
        machine.close_maven_central()
        _set_up_and_start(machine)
        skipped = skips(machine.make("-k", "test"))
        assert skipped and not {why for why in skipped if not MAVEN_OUT_OF_REACH.fullmatch(why)}
        machine.open_maven_central()
        said = machine.make("-k", "test", f'ARGS=-m "needs_maven and {SHORT}"', REQUIRE_ALL="1")
        assert not skips(said) and re.search(r"^=+ [1-9]\d* passed", said, re.MULTILINE), said
        machine.assert_nothing_is_left()


def test_an_ordinary_user_needs_no_package_to_run_it_and_misses_only_tests_of_packages(
    debian: Path, folder: Path
) -> None:
    with fresh_machine(debian, folder, "stranger") as machine:
        _set_up_and_start(machine)
        for tool in ("gcc", "node", "java", "redis-server"):
            assert not (machine.root / "usr/bin" / tool).exists(), tool
        skipped = skips(machine.make("-k", "test"))
        assert skipped and not {why for why in skipped if not PACKAGE_MISSING.fullmatch(why)}
        machine.assert_nothing_is_left()
