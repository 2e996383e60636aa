"""F11: a start looks at what was not on disk, not at the whole store: 5 GB are ready within ten seconds."""

from __future__ import annotations

import os
import struct
import time

import pytest

from tests.crash import requests as rq
from tests.crash.cluster import ASYNC, Broker
from tests.crash.conftest import MakeBroker
from tests.crash.load import QUEUES, TOPIC, create_topic, send_surely
from tests.crash.test_stop import SEND_BATCH, log_bytes, stored_count
from tests.crash.wire import Link

pytestmark = pytest.mark.crash_long

GIGABYTES = int(os.environ.get("LARGE_STORE_GB", "5"))
READY_S = 10.0
SCAN_S_PER_GB = 5.0
CHECKPOINT_S = 3.0
PER_BATCH = 3_000
BODY_BYTES = 1024


def fill(broker: Broker, gigabytes: float) -> int:
    """Batches of messages of 1 KB; how many were acknowledged."""
    item = struct.pack(">iiiii", 22 + BODY_BYTES, 0, 0, 0, BODY_BYTES) + b"x" * BODY_BYTES + bytes(2)
    fields = {**rq.send_fields(TOPIC, 0, "k"), "m": "true", "i": ""}
    batch, stored = item * PER_BATCH, 0
    with Link(broker.address) as link:
        while log_bytes(broker) < gigabytes * (1 << 30):
            for queue in range(QUEUES):
                answer = send_surely(
                    link, {**fields, "e": str(queue)}, batch, code=SEND_BATCH, timeout_s=30.0
                )
                assert answer.code == rq.SUCCESS, answer.remark
                stored += PER_BATCH
    return stored


def ready(broker: Broker, within_s: float, stored: int) -> None:
    took_s = broker.start(timeout_s=120.0)
    print(f"{log_bytes(broker) >> 20} MB ready after {took_s:.2f} s")
    assert stored_count(broker) == stored
    assert took_s <= within_s, f"ready only after {took_s:.1f} s"


def test_five_gigabytes_are_ready_in_ten_seconds(make_broker: MakeBroker) -> None:
    settings = {
        "mappedFileSizeCommitLog": str(1 << 30),
        "mappedFileSizeConsumeQueue": str(6_000_000),
        "maxMessageSize": str(4 << 20),
    }
    broker = make_broker(flush=ASYNC, settings=settings)
    broker.start()
    create_topic(broker.address)
    stored = fill(broker, GIGABYTES)
    time.sleep(CHECKPOINT_S)
    broker.kill()
    ready(broker, READY_S, stored)  # kill -9, with a checkpoint of a moment ago
    assert broker.stop(timeout_s=30.0) <= 10.0
    ready(broker, READY_S, stored)  # a clean stop
    broker.kill()
    (broker.store / "checkpoint").unlink()  # everything has to be looked at
    ready(broker, 2.0 + SCAN_S_PER_GB * (GIGABYTES + 1), stored)
