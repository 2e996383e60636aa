"""`pip install .` in an empty environment: the engine and the client, whole, and no Django."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.packaging.distribution import Environment, copy_sources, install, running
from tests.requirements_probe import need_package

pytestmark = pytest.mark.timeout(400)
"""It builds while other tests run."""

LIST_DISTRIBUTIONS = "import importlib.metadata as m; print(*(d.name.lower() for d in m.distributions()))"
LIST_MODULES = """
import engine, pathlib
root = pathlib.Path(engine.__file__).parent
print(*(path.relative_to(root).as_posix() for path in root.rglob("*.py")))
"""
RECORD_ROUND_TRIP = """
from engine.protocol import _records_cy
from engine.protocol.hashes import java_hash
print(_records_cy.__file__.rsplit(".", 1)[1], java_hash("TagA"))
"""
SEND_AND_RECEIVE = """
import sys
from engine.client import Message
from engine.client.blocking import LitePullConsumer, Producer

with Producer("packaging", namesrv=sys.argv[1]) as producer:
    sent = producer.send(Message("packaging", b"over the wire"))
    print(sent.status.name)
with LitePullConsumer("packaging-readers", namesrv=sys.argv[1]) as consumer:
    consumer.assign([sent.queue])
    consumer.seek_to_begin(sent.queue)
    while not (received := consumer.poll(timeout_ms=1000)):
        pass
    print(received[0].body.decode())
"""


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_sources(tmp_path_factory.mktemp("sources"))


@pytest.fixture(scope="module")
def installed(sources: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """Without a compiler, which is quicker: `make setup` compiles the same modules."""
    folder = tmp_path_factory.mktemp("installed")
    return install(sources, folder / "venv", CC=str(folder / "no-such-compiler"))


def test_a_plain_install_has_no_django(installed: Environment) -> None:
    names = installed.run(LIST_DISTRIBUTIONS).split()
    assert "signalbox" in names
    assert not {"django", "djangorestframework", "channels", "celery", "pyspark", "cython"} & set(names)


def test_every_module_of_the_engine_is_installed(sources: Path, installed: Environment) -> None:
    engine = sources / "engine"
    modules = {path.relative_to(engine).as_posix() for path in engine.rglob("*.py")}
    assert set(installed.run(LIST_MODULES).split()) == modules


def test_type_hints_are_installed(installed: Environment) -> None:
    assert list(installed.folder.glob("lib/python*/site-packages/engine/py.typed"))


def test_it_installs_and_works_without_a_compiler(installed: Environment) -> None:
    assert installed.run(RECORD_ROUND_TRIP).split() == ["py", "2598919"]


@pytest.mark.nightly
def test_it_is_compiled_where_there_is_a_compiler(tmp_path: Path) -> None:
    need_package("gcc")
    need_package("python3-dev")
    # How fast it is does not matter here, how long the compiler takes does.
    compiled = install(copy_sources(tmp_path / "sources"), tmp_path / "venv", CFLAGS="-O0")
    assert compiled.run(RECORD_ROUND_TRIP).split() == ["so", "2598919"]


def test_installed_servers_and_client_send_and_receive(installed: Environment, tmp_path: Path) -> None:
    conf = tmp_path / "broker.conf"
    conf.write_text(f"brokerName=a\nbrokerIP1=127.0.0.1\nlistenPort=0\nstorePathRootDir={tmp_path}/store\n")
    namesrv_command = [installed.command("signalbox-namesrv"), "--listen", "127.0.0.1:0"]
    with running(namesrv_command, tmp_path) as namesrv:
        broker_command = [installed.command("signalbox-broker"), "-c", str(conf), "-n", namesrv]
        with running(broker_command, tmp_path):
            printed = installed.run(SEND_AND_RECEIVE, namesrv)
    assert printed.splitlines() == ["SEND_OK", "over the wire"]
