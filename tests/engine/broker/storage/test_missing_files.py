"""A start over a store of which something is gone: it says what, or refuses with --strict."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path

import pytest

from engine.broker.storage.store_opening_io import missing_tables
from engine.errors import StoreError
from tests.engine.broker.conftest import StartBroker
from tests.engine.broker.peers import SMALL, Peer

ALL = {"topics.json", "subscriptionGroup.json", "consumerOffset.json"}


@pytest.mark.parametrize(
    ("present", "has_messages", "missing"),
    [
        (set(), True, []),
        (ALL, True, []),
        (ALL - {"consumerOffset.json"}, True, ["consumerOffset.json"]),
        (ALL - {"consumerOffset.json"}, False, []),
        (ALL - {"consumerOffset.json"} | {"consumerOffset.json.bak"}, True, []),
        ({"consumerOffset.json.bak"}, True, ["topics.json", "subscriptionGroup.json"]),
    ],
)
def test_a_table_is_missed_where_others_prove_an_older_life(
    present: set[str], has_messages: bool, missing: list[str]
) -> None:
    assert missing_tables(present, has_messages=has_messages) == missing


async def test_a_missing_offsets_file_is_named(
    start_broker: StartBroker, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    broker = await start_broker(signalboxStrictStart="true")
    peer = Peer(broker.address)
    assert (await peer.send("Orders")).code == 0
    await peer.close()
    await broker.stop()
    assert not [line for line in caplog.messages if "gone" in line]
    config = tmp_path / "store" / "config"
    (config / "consumerOffset.json").unlink()
    broker = await start_broker(signalboxStrictStart="true")
    assert [line for line in caplog.messages if "consumerOffset.json is gone: its .bak is read" in line]
    await broker.stop()
    for path in config.glob("consumerOffset.json*"):
        path.unlink()
    with pytest.raises(StoreError, match=r"consumerOffset\.json is gone.*--strict"):
        await start_broker(signalboxStrictStart="true")
    caplog.clear()
    broker = await start_broker()
    assert [line for line in caplog.messages if line.startswith("consumerOffset.json is gone, and its .bak")]
    await broker.stop()


def test_strict_on_the_command_line_refuses_with_a_sentence(tmp_path: Path) -> None:
    store = tmp_path / "store"
    (store / "config").mkdir(parents=True)
    conf = tmp_path / "broker.conf"
    conf.write_text(
        "".join(f"{key}={value}\n" for key, value in SMALL.items()) + f"storePathRootDir={store}\n"
    )
    (store / "commitlog").mkdir()
    (store / "commitlog" / f"{8 << 20:020d}").write_bytes(bytes(8 << 20))
    (store / "signalboxStore").write_bytes(b'{"logStart":0}')
    command = [sys.executable, "-m", "engine.broker", "-c", str(conf), "--strict"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=30)
    assert ended.returncode != 0
    text = ended.stdout + ended.stderr + (tmp_path / "logs" / "broker-a_0" / "broker.log").read_text()
    assert "1 segment is gone" in text and "Traceback" not in text
