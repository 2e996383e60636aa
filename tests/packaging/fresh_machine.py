"""A machine on which nothing was ever set up: a minimal Debian 12 with Python, make and git, in a chroot.

The environment is empty but for PATH, HOME and what this machine's own network needs (certificates, proxies,
settings of pip and npm), which a fresh machine of the same network would have, too. Its loopback is ours.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.packaging import dockerfile_steps as steps
from tests.packaging.dockerfile_steps import Stage
from tests.ports import free_port

ROOT = Path(__file__).parents[2]
PACKAGES = ("python3", "python3-venv", "make", "git", "ca-certificates")
READY_S = 600
GONE_S = 60
# The clone, a new account's own, and what pip, uv, npm and Maven keep for the next time.
_HOME = {"signalbox", ".bashrc", ".bash_logout", ".profile", ".cache", ".npm", ".m2"}
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_SKIPPED = re.compile(r"^SKIPPED \[\d+\] \S+: (.*)$", re.MULTILINE)
_NO_MAVEN = """<settings><mirrors><mirror>
<id>nowhere</id><mirrorOf>*</mirrorOf><url>https://127.0.0.1:9/</url>
</mirror></mirrors></settings>
"""


ADMINISTRATOR = "root"


@dataclass(frozen=True, slots=True)
class Machine:
    """`user` has an account of its own and may not install anything; without one, everything runs as root."""

    root: Path
    user: str = ""

    @property
    def home(self) -> str:
        return f"/home/{self.user}" if self.user else f"/{ADMINISTRATOR}"

    @property
    def _home_folder(self) -> Path:
        return self.root / self.home.lstrip("/")

    @property
    def _stage(self) -> Stage:
        return Stage(self.root, {"PATH": _PATH}, workdir=f"{self.home}/signalbox", user=self.user or "0")

    def prepare(self) -> None:
        place = self._home_folder
        # As in Debian's images: packages of servers do not start them, on ports that are ours, too.
        services = self.root / "usr/sbin/policy-rc.d"
        services.write_text("#!/bin/sh\nexit 101\n")
        services.chmod(0o755)
        if self.user:
            steps.inside(Stage(self.root, {"PATH": _PATH}), ["useradd", "--create-home", self.user])
        subprocess.run(["git", "clone", "-q", "--no-hardlinks", ROOT, place / "signalbox"], check=True)
        if self.user:
            steps.inside(Stage(self.root, {"PATH": _PATH}), ["chown", "-R", f"{self.user}:", self.home])

    def close_maven_central(self) -> None:
        settings = self._home_folder / ".m2" / "settings.xml"
        settings.parent.mkdir()
        settings.write_text(_NO_MAVEN)

    def open_maven_central(self) -> None:
        """With the rest of that folder: Maven also remembers there what it could not reach."""
        shutil.rmtree(self._home_folder / ".m2")

    def make(self, *words: str, **environment: str) -> str:
        """What it said, of a target that went well. /proc and /dev are mounted."""
        done = subprocess.run(
            self._command("make", "--no-print-directory", *words),
            env=self._environ(environment),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert done.returncode == 0, f"make {' '.join(words)}: {done.stdout[-20_000:]}"
        return done.stdout

    def up_and_down(self) -> float:
        """Seconds from `make up` until it says where to look."""
        port = free_port(*range(1, 140))
        arguments = f"ARGS=--port {port} --namesrv-port {port + 1} --broker-port {port + 22}"
        log = self.root / "tmp" / "up.log"
        began = time.monotonic()
        with log.open("wb") as opened:
            command = self._command("make", "up", arguments)
            process = subprocess.Popen(
                command, env=self._environ({}), stdout=opened, stderr=subprocess.STDOUT
            )
        try:
            while "Open http" not in log.read_text():
                assert process.poll() is None and time.monotonic() < began + READY_S, log.read_text()
                time.sleep(0.5)
            return time.monotonic() - began
        finally:
            self.make("down")
            process.wait(60)

    def assert_nothing_is_left(self) -> None:
        """No process, and beside the clone no file in the home."""
        deadline = time.monotonic() + GONE_S
        while left := list(self._processes()):
            assert time.monotonic() < deadline, f"these still run: {left}"
            time.sleep(0.5)
        found = {entry.name for entry in self._home_folder.iterdir()} - _HOME
        assert not found, f"{self.home} also has {found}"

    def _processes(self) -> Iterator[str]:
        for folder in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):  # it has just ended
                if (folder / "root").readlink() == self.root:
                    yield (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()

    def _command(self, *words: str) -> list[str]:
        return steps.chrooted(self._stage, list(words))

    def _environ(self, more: dict[str, str]) -> dict[str, str]:
        lent = steps.environ(self._stage, HOME=self.home, **more)
        del lent["DEBIAN_FRONTEND"]
        return lent


def skips(said: str) -> set[str]:
    """The reasons of what a test run skipped, as pytest lists them."""
    return set(_SKIPPED.findall(said))


@contextmanager
def fresh_machine(base: Path, folder: Path, user: str = "") -> Iterator[Machine]:
    root = folder / "machine"
    subprocess.run(["cp", "-a", base, root], check=True)
    machine = Machine(root, user)
    with steps.mounted(root):
        machine.prepare()
        yield machine
