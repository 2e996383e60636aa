"""The compiled modules under AddressSanitizer and UBSan: their pointers are not checked, so these check them.

A copy of the sources is built with the sanitizers into a folder of its own. There run the modules' own suites
(with every cut and every flipped bit that they know), and then a feeder that gives mutants of frames, batches
and logs to them. Every object is an allocation of its own (PYTHONMALLOC), so that one byte too far is seen.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from setup import COMPILED_MODULES
from tests.requirements_probe import need_package

ROOT = Path(__file__).resolve().parents[2]
FLAGS = "-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer -g -O1"
SUITES = sorted(
    path.relative_to(ROOT).as_posix()
    for folder in ("engine/protocol", "spark/sources")
    for path in ROOT.glob(f"tests/{folder}/test_*_cy.py")
)
BUILD_TIMEOUT_S, RUN_TIMEOUT_S = 1200, 3600
# The copy has the engine alone, without the console that pytest's options expect.
WITHOUT_CONSOLE = ("-p", "no:django", "-p", "no:schemathesis", "-o", "addopts=--strict-markers -p pytester")
pytestmark = [pytest.mark.nightly, pytest.mark.timeout(7200)]


def _library(name: str) -> str:
    found = subprocess.run(["gcc", f"-print-file-name={name}"], capture_output=True, text=True, check=True)
    return found.stdout.strip()


@pytest.fixture(scope="module")
def sanitized(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sources, built with the sanitizers."""
    need_package("gcc")
    need_package("python3-dev")
    home = tmp_path_factory.mktemp("sanitized")
    for folder in ("engine", "spark", "tests"):
        leave_out = shutil.ignore_patterns("*.so", "*.c", "__pycache__", "native", "java", "go", "node")
        shutil.copytree(ROOT / folder, home / folder, ignore=leave_out)
    for name in ("setup.py", "pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, home / name)
    command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
    environment = {**os.environ, "CFLAGS": FLAGS, "LDFLAGS": "-fsanitize=address,undefined"}
    built = subprocess.run(
        command, cwd=home, env=environment, capture_output=True, text=True, timeout=BUILD_TIMEOUT_S
    )
    assert built.returncode == 0, built.stderr[-3000:]
    assert len(list(home.glob("*/*/*_cy.*.so"))) == len(COMPILED_MODULES), built.stderr
    return home


def run(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "LD_PRELOAD": f"{_library('libasan.so')} {_library('libubsan.so')}",
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "PYTHONMALLOC": "malloc",
        "PYTHONPATH": str(home),
    }
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=home,
        env=environment,
        capture_output=True,
        text=True,
        timeout=RUN_TIMEOUT_S,
    )


def test_the_sanitizer_would_see_a_byte_too_many(sanitized: Path) -> None:
    """Proof that the build is watched: it reads behind an object when it is told to."""
    done = run(sanitized, "-c", "import ctypes; ctypes.string_at(id(b'x' * 64), 4096)")
    assert done.returncode != 0 and "AddressSanitizer" in done.stderr


def test_the_suites_of_the_compiled_modules_run_clean(sanitized: Path) -> None:
    # -s: what a sanitizer says would be lost with the process. The profile: a sanitized process is slow, and
    # hypothesis would call that a fault.
    options = ("-q", "-x", "-s", "-p", "no:cacheprovider", "--hypothesis-profile", "ci")
    done = run(sanitized, "-m", "pytest", *WITHOUT_CONSOLE, *options, *SUITES)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[:4000]


def test_mutants_are_read_clean(sanitized: Path) -> None:
    done = run(sanitized, "-m", "tests.fuzz.feeder", "30000")
    assert done.returncode == 0, done.stdout[-500:] + done.stderr[:4000]
