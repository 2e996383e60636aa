"""Damaged messages that were skipped come back after kill -9, once they are whole again: those of a pull, and
those whose delay passed while they were damaged."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

from tests.crash import requests as rq
from tests.crash.cluster import SYNC, Broker
from tests.crash.conftest import MakeBroker
from tests.crash.wire import Link, decode_stored

TOPIC, GROUP = "Damaged", "Readers"
PLAIN, LATER = 0, 1
"""Queues: of messages for now, and of delayed ones."""
COUNT, VICTIM = 10, 4
SEGMENT_BYTES = 1 << 20
BODY_AT = 88
PATIENCE_S = 30.0
SETTINGS = {"messageDelayLevel": "3s", "flushDelayOffsetInterval": "100"}


def send(link: Link, queue: int, body: bytes, *, delay: int = 0) -> int:
    """Where it lies in the log."""
    fields = rq.send_fields(TOPIC, queue, body.decode())
    if delay:
        fields["i"] += f"DELAY\x01{delay}\x02"
    answer = link.call(rq.SEND_V2, fields, body)
    assert answer.code == rq.SUCCESS, answer.remark
    return int(answer.fields["msgId"][-16:], 16)


def flip(store: Path, commit_log_offset: int) -> None:
    base = commit_log_offset // SEGMENT_BYTES * SEGMENT_BYTES
    with open(store / "commitlog" / f"{base:020d}", "r+b") as file:
        file.seek(commit_log_offset - base)
        byte = file.read(1)[0]
        file.seek(commit_log_offset - base)
        file.write(bytes([byte ^ 0x10]))


def read(broker: Broker, topic: str, queue: int) -> list[bytes]:
    """All that a client gets that goes on with every answer's next offset."""
    found: list[bytes] = []
    offset = 0
    with Link(broker.address) as link:
        while True:
            answer = link.call(rq.PULL, rq.pull_fields(topic, GROUP, queue, offset), timeout_s=PATIENCE_S)
            if answer.code not in (rq.SUCCESS, rq.PULL_RETRY):
                return found
            found += [stored.body for stored in decode_stored(answer.body)]
            offset = int(answer.fields["nextBeginOffset"])


def delivered_offsets(store: Path) -> list[bytes]:
    table = json.loads((store / "config" / "delayOffset.json").read_text())["offsetTable"]
    return [b"%d" % offset for offset in table.values()]


def eventually(look: Callable[[], list[bytes]], expected: list[bytes]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while (found := look()) != expected:
        assert time.monotonic() < deadline, found
        time.sleep(0.1)


def test_what_was_skipped_comes_back_after_kill_9(make_broker: MakeBroker) -> None:
    broker = make_broker(flush=SYNC, settings=SETTINGS)
    broker.start()
    plain = [b"plain-%d" % number for number in range(COUNT)]
    later = [b"later-%d" % number for number in range(COUNT)]
    with Link(broker.address) as link:
        places = [send(link, PLAIN, body) for body in plain]
        delayed = [send(link, LATER, body, delay=1) for body in later]
    broker.stop()
    hurt = (places[VICTIM], delayed[VICTIM])
    for place in hurt:
        flip(broker.store, place + BODY_AT)
    broker.start()
    assert read(broker, TOPIC, PLAIN) == plain[:VICTIM] + plain[VICTIM + 1 :]
    eventually(lambda: read(broker, TOPIC, LATER), later[:VICTIM] + later[VICTIM + 1 :])
    # The level counts as delivered, on disk, before the broker dies.
    eventually(lambda: delivered_offsets(broker.store), [b"%d" % COUNT])
    broker.kill()
    for place in hurt:
        flip(broker.store, place + BODY_AT)
    broker.start()
    eventually(lambda: read(broker, f"%RETRY%{GROUP}", 0), [plain[VICTIM]])
    eventually(lambda: read(broker, TOPIC, LATER), [*later[:VICTIM], *later[VICTIM + 1 :], later[VICTIM]])
    # A clean stop notes it: neither comes again.
    broker.stop()
    broker.start()
    time.sleep(2)
    assert read(broker, f"%RETRY%{GROUP}", 0) == [plain[VICTIM]]
    assert len(read(broker, TOPIC, LATER)) == COUNT
