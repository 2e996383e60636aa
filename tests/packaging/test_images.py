"""docker/Dockerfile: its steps executed in a chroot, and what it makes started as its own user."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.packaging import dockerfile_steps as steps
from tests.packaging.dockerfile_steps import Stage
from tests.ports import free_port

ROOT = Path(__file__).parents[2]
DOCKERFILE = ROOT / "docker" / "Dockerfile"
KEY = "a-key-for-this-test-0123456789-abcdefghijklmnopqrstuvw"


def test_every_image_says_who_it_is_how_it_is_and_has_an_init() -> None:
    kept: dict[str, dict[str, str]] = {}
    name = ""
    for word, rest in steps.instructions(DOCKERFILE.read_text()):
        if word == "FROM":
            parent, _, name = rest.split()
            kept[name] = dict(kept.get(parent, {}))
        kept[name][word] = rest
    for image in ("engine", "console", "agent"):
        assert kept[image]["USER"] == "10001"
        assert kept[image]["ENTRYPOINT"].startswith('["tini"')
        assert "CMD" in kept[image]["HEALTHCHECK"]
        assert kept[image]["VOLUME"] == "/var/lib/signalbox"


def test_no_python_lives_in_docker() -> None:
    assert not list((ROOT / "docker").rglob("*.py"))


def test_what_images_copy_is_sent_to_the_builder() -> None:
    allowed = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line[:1] == "!"}
    for word, rest in steps.instructions(DOCKERFILE.read_text()):
        if word == "COPY" and not rest.startswith("--from"):
            for source in rest.split()[:-1]:
                assert (ROOT / source).exists(), source
                assert source in allowed or source.split("/")[0] in allowed, source


def test_compose_names_targets_and_files_that_exist() -> None:
    text = (ROOT / "docker" / "compose.yaml").read_text()
    stages = {rest.split()[-1] for word, rest in steps.instructions(DOCKERFILE.read_text()) if word == "FROM"}
    assert set(re.findall(r"target: (\w+)", text)) <= stages
    for file in re.findall(r"- (\./[\w./-]+):/", text):
        assert (ROOT / "docker" / file).exists()


@pytest.fixture(scope="module")
def built() -> Iterator[dict[str, Stage]]:
    folder = Path(tempfile.mkdtemp(prefix="sbximage"))
    folder.chmod(0o755)
    try:
        yield steps.build(DOCKERFILE, ROOT, steps.debootstrapped(folder), folder)
    finally:
        steps.remove(folder)


@pytest.mark.nightly
@pytest.mark.needs_chroot
@pytest.mark.timeout(3600)
def test_the_engines_image_runs_a_name_server_and_a_broker(built: dict[str, Stage]) -> None:
    engine, port = built["engine"], free_port()
    assert "brokerName" in steps.inside(engine, ["signalbox-broker", "-p"]).stdout
    with running(engine, ["tini", "-s", "--", "signalbox-namesrv", "--listen", f"127.0.0.1:{port}"]):
        until_healthy(engine, HEALTH_PORT=str(port))
        shown = steps.inside(engine, ["id", "-u"]).stdout
        assert shown.strip() == "10001"


@pytest.mark.nightly
@pytest.mark.needs_chroot
@pytest.mark.timeout(3600)
def test_the_consoles_image_gets_healthy(built: dict[str, Stage]) -> None:
    console = built["console"]
    command = [console.entrypoint[0], "-s", "--", *console.command]
    with running(console, command, SIGNALBOX_CONSOLE_KEY=KEY):
        until_healthy(console)
        with urlopen("http://127.0.0.1:8161/") as answer:
            page = answer.read().decode()
        assert '<div id="root">' in page, page[:500]


@pytest.mark.nightly
@pytest.mark.needs_chroot
@pytest.mark.timeout(3600)
def test_the_agents_image_says_what_it_lacks(built: dict[str, Stage]) -> None:
    agent = built["agent"]
    with steps.mounted(agent.root):
        done = subprocess.run(
            steps.chrooted(agent, ["signalbox-agent"]),
            env=steps.environ(agent, SIGNALBOX_HOST_NAME="box", SIGNALBOX_HOST_ADDRESS="127.0.0.1"),
            capture_output=True,
            text=True,
        )
    assert done.returncode != 0 and "SIGNALBOX_JOIN_TOKEN" in done.stderr


@contextmanager
def running(stage: Stage, command: list[str], **environment: str) -> Iterator[None]:
    with steps.mounted(stage.root):
        process = subprocess.Popen(
            steps.chrooted(stage, command), env=steps.environ(stage, **environment), start_new_session=True
        )
        try:
            yield
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(60)


def until_healthy(stage: Stage, **environment: str) -> None:
    """By the image's own question. /proc and /dev are mounted."""
    command = steps.chrooted(stage, stage.healthcheck)
    for _ in range(120):
        asked = subprocess.run(command, env=steps.environ(stage, **environment), capture_output=True)
        if asked.returncode == 0:
            return
        time.sleep(0.5)
    raise AssertionError(f"not healthy: {asked.stderr!r}")
