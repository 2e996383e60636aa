"""Class paths of the Maven projects under ``java/``: resolved once, kept in their ignored ``target`` folders.

A stamp (a digest of the POM and of the sources) says whether what lies in ``target`` is current; while it is,
neither Maven nor the network is touched, so a second run works offline. A lock file serialises test processes
that ask at once.

    class_path("client-5")  ->  "<classes>:<lib>/*"
"""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import subprocess
from pathlib import Path

PROJECTS_DIR = Path(__file__).parent / "java"
CLIENT_VERSIONS = ("4.9", "5")
SERVER_VERSIONS = ("4.9", "5")
MAVEN_TIMEOUT_S = 600


class MavenFailed(RuntimeError):
    """Maven could not resolve or compile a project; the text is what it printed."""


def class_path(project: str) -> str:
    """The class path of a project, built first if it is missing or its sources have changed."""
    project_dir = PROJECTS_DIR / project
    target_dir = project_dir / "target"
    stamp_file = target_dir / "stamp"
    target_dir.mkdir(exist_ok=True)
    with (target_dir / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        stamp = _stamp(project_dir)
        if not stamp_file.exists() or stamp_file.read_text() != stamp:
            _build(project_dir)
            stamp_file.write_text(stamp)
    return f"{target_dir / 'classes'}:{target_dir / 'lib'}/*"


def is_built(project: str) -> bool:
    """Whether the project's class path is there and current, without asking Maven."""
    project_dir = PROJECTS_DIR / project
    stamp_file = project_dir / "target" / "stamp"
    return stamp_file.exists() and stamp_file.read_text() == _stamp(project_dir)


def _stamp(project_dir: Path) -> str:
    digest = hashlib.sha256((project_dir / "pom.xml").read_bytes())
    for source in sorted(_source_dir(project_dir).rglob("*.java")):
        digest.update(source.name.encode() + source.read_bytes())
    return digest.hexdigest()


def _source_dir(project_dir: Path) -> Path:
    return PROJECTS_DIR / f"{project_dir.name.split('-')[0]}-src"


def _build(project_dir: Path) -> None:
    """Compiles and copies dependencies; offline first, because a warm repository needs no network."""
    for stale in ("classes", "lib"):
        shutil.rmtree(project_dir / "target" / stale, ignore_errors=True)
    for connectivity in (["--offline"], []):
        done = subprocess.run(
            ["mvn", "-q", "-B", *connectivity, "process-classes"],
            cwd=project_dir,
            capture_output=True,
            text=True,
            timeout=MAVEN_TIMEOUT_S,
            check=False,
        )
        if done.returncode == 0:
            return
    raise MavenFailed(f"{project_dir.name}: {done.stdout[-4000:]}{done.stderr[-1000:]}")


if __name__ == "__main__":
    for kind, versions in (("client", CLIENT_VERSIONS), ("server", SERVER_VERSIONS)):
        for version in versions:
            print(class_path(f"{kind}-{version}"))
