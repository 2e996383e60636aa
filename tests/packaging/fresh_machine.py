"""A machine on which nothing was ever set up: a minimal Debian 12 with Python, make and git, in a chroot.

The environment is empty but for PATH, HOME and what this machine's own network needs (certificates, proxies,
settings of pip and npm), which a fresh machine of the same network would have, too. Its loopback is ours.
"""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.packaging import dockerfile_steps as steps
from tests.packaging.dockerfile_steps import Stage
from tests.ports import free_port

ROOT = Path(__file__).parents[2]
PACKAGES = ("python3", "python3-venv", "make", "git", "ca-certificates")
READY_S = 600
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
    def _stage(self) -> Stage:
        return Stage(self.root, {"PATH": _PATH}, workdir=f"{self.home}/signalbox", user=self.user or "0")

    def prepare(self, *, maven: bool) -> None:
        place = self.root / self.home.lstrip("/")
        # As in Debian's images: packages of servers do not start them, on ports that are ours, too.
        services = self.root / "usr/sbin/policy-rc.d"
        services.write_text("#!/bin/sh\nexit 101\n")
        services.chmod(0o755)
        if self.user:
            steps.inside(Stage(self.root, {"PATH": _PATH}), ["useradd", "--create-home", self.user])
        subprocess.run(["git", "clone", "-q", "--no-hardlinks", ROOT, place / "signalbox"], check=True)
        if not maven:
            (place / ".m2").mkdir()
            (place / ".m2" / "settings.xml").write_text(_NO_MAVEN)
        if self.user:
            steps.inside(Stage(self.root, {"PATH": _PATH}), ["chown", "-R", f"{self.user}:", self.home])

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
def fresh_machine(base: Path, folder: Path, user: str = "", *, maven: bool) -> Iterator[Machine]:
    root = folder / "machine"
    subprocess.run(["cp", "-a", base, root], check=True)
    machine = Machine(root, user)
    with steps.mounted(root):
        machine.prepare(maven=maven)
        yield machine
