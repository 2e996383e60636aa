"""How far a store may be read: decided from what the broker, the checkpoint and the folder say."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.protocol.layouts.checkpoints import Checkpoint, CheckpointPage, DurableOffsets
from spark.sources.broker_answers import Asking, BrokerSays
from spark.sources.readable_end import End, Known, decide_end
from tests.spark.sources.written import START_MS, Sent, Written, look, offsets_in

OURS = CheckpointPage(Checkpoint(9, 8, 7), DurableOffsets(1000, 900, 0, 1))
APACHES = CheckpointPage(Checkpoint(9, 8, 7), None)
NOTHING = CheckpointPage(None, None)


@pytest.mark.parametrize(
    ("mode", "known", "end"),
    [
        # The broker's word, at a boundary when it tells one.
        ("auto", Known(BrokerSays(2000, 1990), False, OURS), End(1990, True, dispatched_offset=1990)),
        ("auto", Known(BrokerSays(2000), False, APACHES), End(2000, dispatched_ms=8)),
        ("auto", Known(BrokerSays(2000), False, NOTHING), End(2000)),
        # Nobody answers: what was on disk.
        ("auto", Known(None, False, OURS), End(900, True, dispatched_offset=900)),
        ("auto", Known(None, False, APACHES), End(last_ms=9, dispatched_ms=8, was_closed=False)),
        ("auto", Known(None, False, NOTHING), End(was_closed=False)),
        # Closed: all of it.
        ("auto", Known(None, True, OURS), End(900, True, dispatched_offset=900)),
        ("auto", Known(None, True, APACHES), End(dispatched_ms=8)),
        ("auto", Known(None, True, NOTHING), End()),
        # As the caller insists.
        ("checkpoint", Known(BrokerSays(2000, 1990), False, OURS), End(900, True, dispatched_offset=900)),
        ("log", Known(BrokerSays(2000, 1990), False, OURS), End(dispatched_offset=900, was_closed=False)),
        ("log", Known(None, True, APACHES), End(dispatched_ms=8)),
    ],
)
def test_the_end_follows_from_what_is_known(mode: str, known: Known, end: End) -> None:
    assert decide_end(mode, known) == end


def test_what_was_not_dispatched_is_read_up_to_what_was_flushed() -> None:
    page = CheckpointPage(Checkpoint(), DurableOffsets(900, 1000, 0, 1))
    assert decide_end("auto", Known(None, False, page)) == End(900, False, dispatched_offset=1000)


def dated(count: int) -> list[Sent]:
    return [Sent(body=b"x" * 200, store_ms=START_MS + number) for number in range(count)]


def test_a_crashed_store_is_read_up_to_its_checkpoint(tmp_path: Path) -> None:
    written = Written(tmp_path).write(dated(40))
    flushed = written.records[17].commit_log_offset
    written.crash(flushed + 50, flushed + 500)
    (log,) = look(tmp_path)
    assert log.end_offset == flushed
    assert len(offsets_in(log)) == 17
    (log,) = look(tmp_path, end="log")
    assert len(offsets_in(log)) == 40


def test_apache_s_checkpoint_says_it_by_time(tmp_path: Path) -> None:
    written = Written(tmp_path).write(dated(40)).crash(0, 0)
    written.note_times(START_MS + 22, START_MS + 20)
    (log,) = look(tmp_path)
    assert len(offsets_in(log)) == 23


def test_a_store_whose_broker_is_gone_is_not_waited_for(tmp_path: Path) -> None:
    """Its records name 127.0.0.1:1, where nobody listens."""
    written = Written(tmp_path).write(dated(3)).crash(0, 0)
    written.note(written.end_offset, written.end_offset)
    (log,) = look(tmp_path)
    assert log.end_offset == written.end_offset
    (log,) = look(tmp_path, addresses="127.0.0.1:1")
    assert log.end_offset == written.end_offset


def test_addresses_are_for_one_store_or_for_all() -> None:
    asking = Asking.read({"addresses": "east/broker-a=10.0.0.1:10911, 127.0.0.1:10911", "tls": "true"})
    assert asking.addresses == {"east/broker-a": "10.0.0.1:10911", "": "127.0.0.1:10911"}
    assert asking.tls and asking.credentials is None
    signed = Asking.read({"access_key": "a", "secret_key": "s" * 8})
    assert signed.credentials is not None and signed.credentials.access_key == "a"
