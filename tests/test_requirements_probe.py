"""The rule that nothing is skipped in silence, tried on small suites of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import requirements_probe

ROOT = Path(__file__).parents[1]
SKIPPING = """
    import pytest

    def test_that_skips():
        pytest.skip("because I feel like it")
"""
NEEDING = """
    import pytest

    @pytest.mark.needs_maven
    def test_with_maven():
        pass
"""

COMPILING = """
    import pytest
    from tests.requirements_probe import need_package

    @pytest.fixture(scope="session")
    def compiler():
        need_package("redis-server")

    def test_with_a_compiler(compiler):
        pass

    def test_that_finds_out_late():
        need_package("redis-server")
"""


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """An empty suite under the same conftest, on a machine that has no Java."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("PATH", str(pytester.path))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.delenv("REQUIRE_ALL", raising=False)
    pytester.makeini("[pytest]\naddopts = -ra --strict-markers\n")
    pytester.makeconftest("from tests.conftest import *")
    return pytester


def test_a_listed_requirement_that_is_missing_skips_with_its_reason(suite: pytest.Pytester) -> None:
    suite.makepyfile(NEEDING)
    result = suite.runpytest_subprocess()
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*needs_maven: no java on PATH*"])


def test_require_all_turns_a_listed_skip_into_a_failure(
    suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REQUIRE_ALL", "1")
    suite.makepyfile(NEEDING)
    result = suite.runpytest_subprocess()
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*REQUIRE_ALL=1 allows no skip*no java on PATH*"])


def test_a_debian_package_that_is_missing_skips_with_its_name(suite: pytest.Pytester) -> None:
    suite.makepyfile(COMPILING)
    result = suite.runpytest_subprocess()
    result.assert_outcomes(skipped=2)
    result.stdout.fnmatch_lines(["*Debian's package redis-server is not installed*"])


def test_require_all_wants_every_debian_package(
    suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REQUIRE_ALL", "1")
    suite.makepyfile(COMPILING)
    result = suite.runpytest_subprocess()
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*REQUIRE_ALL=1 allows no skip*redis-server is not installed*"])


def test_only_packages_that_setup_installs_can_be_needed() -> None:
    with pytest.raises(KeyError):
        requirements_probe.need_package("emacs")


def test_every_probe_of_a_debian_package_is_understood() -> None:
    lines = [line.split() for line in requirements_probe.PACKAGES_FILE.read_text().splitlines()]
    names = [words[0] for words in lines if words and words[0] != "#"]
    assert "gcc" in names and requirements_probe.is_installed("python3")
    for name in names:
        requirements_probe.is_installed(name)


def test_a_skip_that_is_not_listed_fails(suite: pytest.Pytester) -> None:
    suite.makepyfile(SKIPPING)
    result = suite.runpytest_subprocess()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*not on the list*because I feel like it*"])


def test_a_module_that_skips_itself_fails(suite: pytest.Pytester) -> None:
    suite.makepyfile("import pytest\npytest.importorskip('nothing_of_that_name')")
    assert suite.runpytest_subprocess().ret != pytest.ExitCode.OK


def test_an_expected_failure_is_no_skip(suite: pytest.Pytester) -> None:
    suite.makepyfile("import pytest\n\n@pytest.mark.xfail\ndef test_known():\n    assert False")
    suite.runpytest_subprocess().assert_outcomes(xfailed=1)


def test_what_only_long_suites_may_need_is_refused_elsewhere(suite: pytest.Pytester) -> None:
    suite.makepyfile("import pytest\n\n@pytest.mark.needs_mounts\ndef test_disk():\n    pass")
    result = suite.runpytest_subprocess()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*needs_mounts is only for tests marked crash_long or nightly*"])


def test_only_maven_and_debians_packages_may_be_missing_from_a_plain_test_run() -> None:
    # Packages: only root can install them (tools/setup.sh does); REQUIRE_ALL=1 still allows no skip.
    anywhere = [entry.marker for entry in requirements_probe.REQUIREMENTS if not entry.long_suites]
    assert anywhere == ["needs_maven", "needs_debian_servers"]
