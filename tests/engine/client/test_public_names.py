"""What applications and operators may rely on: the names of the client and the commands of the distribution.

A name that goes breaks somebody's program; a new one is a promise, so it is added here by hand.
"""

from __future__ import annotations

import importlib.util
import tomllib
from pathlib import Path

import pytest

import engine.client
from engine.client import blocking

ROOT = Path(__file__).resolve().parents[3]

CLIENT = [
    "Admin",
    "ClientInstance",
    "ClientOptions",
    "ConsumeFromWhere",
    "ConsumeStatus",
    "ConsumerOptions",
    "Credentials",
    "Listener",
    "LitePullConsumer",
    "LitePullOptions",
    "Message",
    "MessageModel",
    "MessageQueue",
    "PopConsumer",
    "PopOptions",
    "PoppedMessage",
    "Producer",
    "ProducerOptions",
    "PullOptions",
    "PushConsumer",
    "ReceivedMessage",
    "SendResult",
    "SendStatus",
    "TlsOptions",
    "TransactionProducer",
    "TransactionResult",
    "TransactionState",
]
BLOCKING = [
    "Admin",
    "LitePullConsumer",
    "LoopThread",
    "PopConsumer",
    "Producer",
    "PushConsumer",
    "TransactionProducer",
]
SCRIPTS = {
    "signalbox-admin": "engine.admin.main:main",
    "signalbox-broker": "engine.broker.main:main",
    "signalbox-namesrv": "engine.namesrv.main:main",
}


def test_the_client_has_exactly_these_names() -> None:
    assert sorted(engine.client.__all__) == CLIENT
    assert all(hasattr(engine.client, name) for name in CLIENT)


def test_the_blocking_client_has_exactly_these_names() -> None:
    assert sorted(blocking.__all__) == BLOCKING
    assert all(hasattr(blocking, name) for name in BLOCKING)


def test_the_console_scripts_are_these_and_can_be_called() -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert scripts == SCRIPTS
    for target in scripts.values():
        module, _, function = target.partition(":")
        assert callable(getattr(importlib.import_module(module), function))


@pytest.mark.parametrize("package", ["engine.broker", "engine.namesrv", "engine.admin"])
def test_the_package_runs_with_python_m(package: str) -> None:
    assert importlib.util.find_spec(f"{package}.__main__") is not None
