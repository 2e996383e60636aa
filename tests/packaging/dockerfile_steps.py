"""Executes a Dockerfile's steps without Docker: every stage is a folder, RUN is a chroot into it.

What a builder would take from its host (names, certificates, where packages come from) is lent to the chroot:
apt's sources, pip's and npm's settings. Not a builder: no layers, no cache, and only the instructions that
docker/Dockerfile uses; one that it does not know fails.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

_CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
_LENT = ("/etc/resolv.conf", "/etc/hosts", "/etc/pip.conf", _CERTIFICATES, "/etc/apt/sources.list.d")
_LENT += ("/etc/apt/apt.conf.d", "/etc/apt/keyrings", "/usr/share/keyrings")
# Of a network with a certificate of its own: Debian's packages of certificates take these up.
_LENT += ("/usr/local/share/ca-certificates",)
_ENVIRONMENT = re.compile(
    r"PIP_\w+|(?i:npm_config_\w+|\w+_proxy)|SSL_CERT_FILE|REQUESTS_CA_BUNDLE|NODE_EXTRA_CA_CERTS"
)
# As in the image `debian:12-slim`.
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# npm looks for it in the home of whoever runs it, and the chroot's home is another.
_NPM_SETTINGS = "/etc/lent.npmrc"


@dataclass(frozen=True, slots=True)
class Stage:
    root: Path
    environment: dict[str, str] = field(default_factory=dict)
    workdir: str = "/"
    user: str = "0"
    healthcheck: list[str] = field(default_factory=list)
    entrypoint: list[str] = field(default_factory=list)
    command: list[str] = field(default_factory=list)


def instructions(text: str) -> Iterator[tuple[str, str]]:
    joined = re.sub(r"\\\n", " ", re.sub(r"^\s*#.*\n", "", text, flags=re.MULTILINE))
    for line in filter(str.strip, joined.splitlines()):
        word, _, rest = line.strip().partition(" ")
        yield word.upper(), " ".join(rest.split())


def debootstrapped(folder: Path, *packages: str) -> Path:
    """What `debian:12-slim` is made from, by this machine's own mirror; with these packages."""
    root = folder / "debian"
    sources = Path("/etc/apt/sources.list.d/debian.sources").read_text()
    mirror = re.search(r"^URIs: (\S+)", sources, re.MULTILINE)
    assert mirror is not None
    include = [f"--include={','.join(packages)}"] if packages else []
    _run(["debootstrap", "--variant=minbase", *include, "bookworm", str(root), mirror[1]])
    for name in _LENT:
        _lend(Path(name), root)
    _lend(Path.home() / ".npmrc", root, _NPM_SETTINGS)
    if (root / "usr/sbin/update-ca-certificates").exists():
        # It was installed before it was lent this network's own; Java's package takes up what it links.
        inside(Stage(root, {"PATH": _PATH}), ["update-ca-certificates"])
    return root


def build(dockerfile: Path, context: Path, base: Path, folder: Path) -> dict[str, Stage]:
    """All stages, by name."""
    stages: dict[str, Stage] = {}
    name = ""
    for word, rest in instructions(dockerfile.read_text()):
        if word == "FROM":
            parent, name = re.fullmatch(r"(\S+) AS (\S+)", rest).groups()  # type: ignore[union-attr]
            stages[name] = _begun(stages.get(parent), base, folder / f"stage-{name}")
        else:
            stages[name] = _step(word, rest, stages[name], stages, context)
    return stages


def _begun(parent: Stage | None, base: Path, root: Path) -> Stage:
    _run(["cp", "-a", str(parent.root if parent else base), str(root)])
    return replace(parent, root=root) if parent else Stage(root, {"PATH": _PATH})


def _step(word: str, rest: str, stage: Stage, stages: dict[str, Stage], context: Path) -> Stage:
    if word == "RUN":
        inside(stage, ["/bin/bash", "-o", "pipefail", "-c", rest])
    elif word == "COPY":
        _copy(rest, stage, stages, context)
    elif word == "ENV":
        found = dict(pair.split("=", 1) for pair in shlex.split(rest))
        known = stage.environment
        expanded = {key: value.replace("$PATH", known["PATH"]) for key, value in found.items()}
        return replace(stage, environment=known | expanded)
    elif word == "WORKDIR":
        (stage.root / rest.lstrip("/")).mkdir(parents=True, exist_ok=True)
        return replace(stage, workdir=rest)
    elif word == "USER":
        return replace(stage, user=rest)
    elif word == "HEALTHCHECK":
        return replace(stage, healthcheck=json.loads(rest[rest.index("CMD [") + 4 :]))
    elif word in ("ENTRYPOINT", "CMD"):
        return replace(stage, **{word.lower().replace("cmd", "command"): json.loads(rest)})
    else:
        assert word in ("SHELL", "VOLUME", "EXPOSE"), f"{word} is not known here"
    return stage


def _copy(rest: str, stage: Stage, stages: dict[str, Stage], context: Path) -> None:
    *sources, target = [part for part in rest.split() if not part.startswith("--")]
    origin = re.match(r"--from=(\S+) ", rest)
    place = stages[origin[1]].root if origin else context
    where = stage.root / os.path.join(stage.workdir, target).lstrip("/")
    for name in sources:
        source = place / name.lstrip("/")
        into = where / source.name if target.endswith("/") else where
        if source.is_dir():
            ignored = shutil.ignore_patterns("__pycache__", "node_modules", "*.so", "*.c")
            shutil.copytree(
                source, into, symlinks=True, dirs_exist_ok=True, ignore=None if origin else ignored
            )
        else:
            into.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, into)


def inside(stage: Stage, command: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
    # Again and again: a package of certificates makes its own list when it is installed.
    _lend(Path(_CERTIFICATES), stage.root)
    with mounted(stage.root):
        return _run(chrooted(stage, command), env=environ(stage, **environment))


def chrooted(stage: Stage, command: list[str]) -> list[str]:
    return ["chroot", f"--userspec={stage.user}:{stage.user}", str(stage.root), *_at(stage, command)]


def environ(stage: Stage, **more: str) -> dict[str, str]:
    lent = {name: value for name, value in os.environ.items() if _ENVIRONMENT.fullmatch(name)}
    ours = {"HOME": "/var/lib/signalbox", "DEBIAN_FRONTEND": "noninteractive"}
    if (stage.root / _NPM_SETTINGS.lstrip("/")).exists():
        ours["npm_config_userconfig"] = _NPM_SETTINGS
    return ours | lent | stage.environment | more


def _at(stage: Stage, command: list[str]) -> list[str]:
    return ["/usr/bin/env", f"--chdir={stage.workdir}", *command]


@contextmanager
def mounted(root: Path) -> Iterator[None]:
    wheels = Path(os.environ.get("PIP_FIND_LINKS", "/nowhere"))
    # As a slave: what is unmounted in there stays mounted on this machine.
    mounts = [["-t", "proc", "proc", root / "proc"], ["--rbind", "--make-rslave", "/dev", root / "dev"]]
    if wheels.is_dir():
        (root / str(wheels).lstrip("/")).mkdir(parents=True, exist_ok=True)
        mounts.append(["--bind", wheels, root / str(wheels).lstrip("/")])
    done: list[Path] = []
    try:
        for mount in mounts:
            _run(["mount", *map(str, mount)])
            done.append(Path(mount[-1]))
        yield
    finally:
        for target in reversed(done):
            _run(["umount", "--recursive", "--lazy", str(target)])


def remove(folder: Path) -> None:
    """Never through a mount that is left in there: it would take this machine's own /dev along."""
    mounts = [line.split()[1] for line in Path("/proc/self/mounts").read_text().splitlines()]
    left = [target for target in mounts if target.startswith(f"{folder}/")]
    assert not left, f"{folder} is kept, for these are still mounted: {left}"
    shutil.rmtree(folder, ignore_errors=True)


def _lend(source: Path, root: Path, name: str = "") -> None:
    target = root / (name or str(source)).lstrip("/")
    if source.is_dir():
        shutil.copytree(source, target, dirs_exist_ok=True, ignore_dangling_symlinks=True)
    elif source.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        # A link in there that names a whole path would lead to this machine's own file.
        target.unlink(missing_ok=True)
        shutil.copyfile(source, target)


def _run(command: list[str], **options: object) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(command, capture_output=True, text=True, timeout=1800, **options)  # type: ignore[call-overload]
    assert done.returncode == 0, f"{shlex.join(command)}\n{done.stdout[-3000:]}\n{done.stderr[-5000:]}"
    return done
