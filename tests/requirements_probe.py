"""The one list of what a test may need that a plain machine with PyPI, Debian and npm does not have.

A test says so with the marker, is skipped with the printed reason when the probe fails, and no other skip is
accepted anywhere (tests/conftest.py turns it into a failure). REQUIRE_ALL=1, set by .ci/run, turns these into
failures too. Each probe runs at most once per session, and only when a selected test asks for it.

Debian packages are the exception from markers: whatever uses one (a fixture, a compiler's caller) says
`need_package("gcc")`, which skips the running test with that name. tools/setup.sh installs them as root; an
ordinary user may lack them. The list, with how a package is recognised, is tools/debian-packages.txt. In the
same way a nightly test says `need_python("3.13")`.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import shutil
import subprocess
import sysconfig
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests import debian_servers
from tests.interop import jars
from tests.packaging import interpreters

PROBE_TIMEOUT_S = 180
PACKAGES_FILE = Path(__file__).parents[1] / "tools" / "debian-packages.txt"


class NotInstalled(pytest.skip.Exception):
    """The only skip that may be raised while a test runs."""

    __module__ = "builtins"  # pytest prints it before the reason


def need_package(name: str) -> None:
    if not is_installed(name):
        raise NotInstalled(f"Debian's package {name} is not installed")


def need_compiled_modules() -> None:
    """For limits of cost that only hold where `make setup` could compile."""
    for name in ("gcc", "libc6-dev", "python3-dev"):
        need_package(name)


def need_python(minor: str) -> Path:
    """The oldest patch release of it on this machine."""
    found = interpreters.oldest(minor)
    if found is None:
        raise NotInstalled(f"Python {minor} is not installed")
    return found


@functools.cache
def is_installed(name: str) -> bool:
    """By the probe in tools/debian-packages.txt; a package that is not in it is an error of the test."""
    lines = (line.split() for line in PACKAGES_FILE.read_text().splitlines() if line[:1] != "#")
    kind, _, what = {words[0]: words[1] for words in lines if words}[name].partition(":")
    if kind == "command":
        return shutil.which(what) is not None
    if kind == "module":
        return importlib.util.find_spec(what) is not None
    if kind == "header":
        return Path(sysconfig.get_path("include"), what).exists()
    assert kind == "file", f"{kind} is no kind of probe"
    return Path(what).exists()


@dataclass(frozen=True, slots=True)
class Requirement:
    """`probe` returns None when all is there, else the reason that is printed."""

    marker: str
    meaning: str
    probe: Callable[[], str | None]
    long_suites: tuple[str, ...] = ()
    """The markers of the only suites that may use it: `make test` may miss nothing but Maven Central and
    the servers, which only root can install."""


@functools.cache
def maven_central() -> str | None:
    for command in ("java", "mvn"):
        if shutil.which(command) is None:
            return f"no {command} on PATH"
    if _jars_are_here():
        return None
    probe = ["mvn", "-q", "-B", "dependency:get", "-Dtransitive=false"]
    probe.append("-Dartifact=org.apache.rocketmq:rocketmq-client:4.9.8:pom")
    try:
        done = subprocess.run(
            probe, cwd=tempfile.gettempdir(), capture_output=True, text=True, timeout=PROBE_TIMEOUT_S
        )
    except subprocess.TimeoutExpired:
        return f"Maven Central did not answer within {PROBE_TIMEOUT_S} s"
    return None if done.returncode == 0 else "Maven Central cannot be reached"


def _jars_are_here() -> bool:
    projects = [pom.parent.name for pom in jars.PROJECTS_DIR.glob("*/pom.xml")]
    return bool(projects) and all(map(jars.is_built, projects))


@functools.cache
def mounts() -> str | None:
    if os.geteuid() != 0:
        return "mounting needs root"
    for command in ("losetup", "mkfs.ext4", "mount", "umount"):
        if shutil.which(command) is None:
            return f"no {command} on PATH"
    with tempfile.TemporaryDirectory() as folder:
        mounted = subprocess.run(["mount", "-t", "tmpfs", "none", folder], capture_output=True)
        if mounted.returncode != 0:
            return "this machine does not let us mount"
        subprocess.run(["umount", folder], check=True)
    free_loop = subprocess.run(["losetup", "--find"], capture_output=True)
    return None if free_loop.returncode == 0 else "no free loop device"


@functools.cache
def namespaces() -> str | None:
    if os.geteuid() != 0:
        return "network namespaces need root"
    if shutil.which("ip") is None:
        return "no ip on PATH"
    name = f"sbprobe{os.getpid()}"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True)
    if made.returncode != 0:
        return "this machine does not let us make network namespaces"
    link = ["ip", "link", "add", f"{name[:10]}v", "type", "veth", "peer", "name", "eth0", "netns", name]
    has_link = subprocess.run(link, capture_output=True).returncode == 0
    subprocess.run(["ip", "netns", "del", name], check=True)
    return None if has_link else "this machine does not let us make network links"


@functools.cache
def servers_of_debian() -> str | None:
    return debian_servers.missing()


@functools.cache
def chroots() -> str | None:
    if os.geteuid() != 0:
        return "a chroot needs root"
    return None if shutil.which("debootstrap") else "no debootstrap on PATH"


REQUIREMENTS = (
    Requirement("needs_maven", "Java, Maven and the jars of Maven Central", maven_central),
    Requirement(
        "needs_debian_servers", "PostgreSQL and Redis servers from Debian's packages", servers_of_debian
    ),
    Requirement("needs_chroot", "root and debootstrap", chroots, long_suites=("nightly",)),
    Requirement(
        "needs_mounts", "root, mount and loop devices", mounts, long_suites=("crash_long", "nightly")
    ),
    Requirement("needs_namespaces", "root and network namespaces", namespaces, long_suites=("crash_long",)),
)
