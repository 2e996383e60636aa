"""Whether a full disk may cost messages that have not expired: the default, the warning, and who is told."""

from __future__ import annotations

import logging

import pytest

from engine.broker.settings.config_changes import ConfigChanges
from engine.broker.settings.options import load_options
from engine.broker.storage import housekeeping_task as housekeeping
from engine.broker.storage.disk_room import DiskSpace
from engine.protocol.bodies.stats import BrokerSnapshot
from engine.protocol.codes import RequestCode, ResponseCode
from tests.engine.broker.conftest import StartBroker
from tests.engine.broker.peers import Peer, RunningBroker, eventually
from tests.engine.broker.process.test_metrics import labels, scrape

KEY = "cleanFileForciblyEnable"


def _warnings(text: str) -> list[str]:
    return [warning for warning in load_options(text).warnings if KEY in warning]


@pytest.mark.parametrize(
    ("text", "is_enabled"),
    [
        ("", True),
        ("signalboxProfile=fast", True),
        ("brokerRole=SYNC_MASTER\nflushDiskType=SYNC_FLUSH", True),
        ("minInSyncReplicas=1", True),
        ("minInSyncReplicas=2", False),
        ("signalboxProfile=safe", False),
        ("signalboxProfile=safe\nminInSyncReplicas=1", False),
        ("signalboxProfile=fast\nminInSyncReplicas=3", False),
    ],
)
def test_the_default_is_rocketmqs_unless_messages_are_protected(text: str, is_enabled: bool) -> None:
    options = load_options(text)
    assert options.live.clean_file_forcibly_enable is is_enabled
    assert options.protects_unexpired is not is_enabled
    assert not _warnings(text)


@pytest.mark.parametrize("text", ["signalboxProfile=safe", "minInSyncReplicas=2"])
def test_an_explicit_true_is_obeyed_and_warned_of(text: str) -> None:
    options = load_options(f"{text}\n{KEY}=true")
    assert options.live.clean_file_forcibly_enable
    (warning,) = _warnings(f"{text}\n{KEY}=true")
    assert "deletes acknowledged messages" in warning


def test_an_explicit_value_elsewhere_needs_no_warning() -> None:
    assert not load_options(f"{KEY}=false").live.clean_file_forcibly_enable
    assert not _warnings(f"{KEY}=true") and not _warnings(f"{KEY}=false")


def test_a_value_kept_from_run_time_never_weakens_a_protected_broker() -> None:
    for text, kept, is_enabled in (("", "true", False), (f"{KEY}=true\n", "false", False)):
        live = load_options(f"{text}minInSyncReplicas=2").live
        changes = ConfigChanges(live, protects_unexpired=True)
        refused = changes.restore(f"{KEY}={kept}\nfileReservedTime=48")
        assert live.clean_file_forcibly_enable is is_enabled and live.file_reserved_time == 48
        assert bool(refused) is (kept == "true")


@pytest.mark.parametrize(
    ("text", "kept", "may_delete"),
    [
        ("", "", False),
        ("signalboxProfile=fast", "", False),
        ("minInSyncReplicas=1", "", True),
        (f"{KEY}=true", "", True),
        ("", f"{KEY}=true", True),
        ("", "fileReservedTime=48", False),
    ],
)
def test_a_master_that_says_nothing_takes_its_groups_rule(text: str, kept: str, may_delete: bool) -> None:
    options = load_options(text)
    changes = ConfigChanges(options.live, configures_deletion=options.configures_deletion)
    changes.restore(kept)
    told: list[frozenset[str]] = []
    changes.on_change = told.append
    assert changes.keep_unexpired() is may_delete
    assert options.live.clean_file_forcibly_enable is may_delete
    assert told == ([] if may_delete else [frozenset({"clean_file_forcibly_enable"})])
    # Somebody who wants it all the same can say so.
    changes.saved({KEY: "true"})
    assert changes.keep_unexpired() is True


async def test_it_cannot_be_changed_at_run_time_where_messages_are_protected(
    start_broker: StartBroker,
) -> None:
    broker = await start_broker(minInSyncReplicas="2")
    peer = Peer(broker.address)
    body = f"fileReservedTime=48\n{KEY}=true".encode()
    refused = await peer.ask(RequestCode.UPDATE_BROKER_CONFIG, body=body)
    assert refused.code == ResponseCode.NO_PERMISSION
    assert KEY in str(refused.remark) and "broker.conf" in str(refused.remark)
    live = broker.inner.options.live
    assert (live.file_reserved_time, live.clean_file_forcibly_enable) == (72, False)
    assert (await peer.ask(RequestCode.UPDATE_BROKER_CONFIG, body=f"{KEY}=false".encode())).code == 0
    await peer.close()


async def test_elsewhere_it_can_be_changed(broker: RunningBroker, peer: Peer) -> None:
    assert (await peer.ask(RequestCode.UPDATE_BROKER_CONFIG, body=f"{KEY}=false".encode())).code == 0
    assert not broker.inner.core.store.front.rules.clean_file_forcibly_enable


async def _fill(peer: Peer, broker: RunningBroker, segments: int) -> None:
    body = bytes(100_000)
    while broker.inner.core.store.log.max_offset < segments * (1 << 20):
        assert (await peer.send("orders", body)).code == 0
    store = broker.inner.core.store
    await eventually(lambda: not store.queues.has_undispatched())
    await broker.inner.tasks.log.flusher.flush_log(force=True)


SMALL_SEGMENTS = {"mappedFileSizeCommitLog": str(1 << 20), "maxMessageSize": "200000"}


async def _retention(peer: Peer) -> dict[str, object]:
    answer = await peer.ask(RequestCode.SIGNALBOX_COLLECTOR_SNAPSHOT)
    return dict(BrokerSnapshot.read("1", True, bytes(answer.body)).sections["retention"])


async def test_what_is_deleted_before_its_time_is_logged_counted_and_told(
    start_broker: StartBroker, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    broker = await start_broker(**SMALL_SEGMENTS, metricsExporterType="PROM", metricsPromExporterPort="0")
    peer = Peer(broker.address)
    await _fill(peer, broker, 3)
    assert "deletedUnexpired" not in await _retention(peer)
    monkeypatch.setattr(housekeeping, "disk_space", lambda path: DiskSpace(0, 0, 0.86))
    with caplog.at_level(logging.WARNING):
        await broker.inner.tasks.log.housekeeping.clean()
    end = broker.inner.core.store.log.min_offset
    assert end >= 2 << 20
    assert f"commit-log offsets 0 to {end}," in caplog.text
    told = await _retention(peer)
    deleted = told.pop("deletedUnexpired")
    assert told == {
        "mayDeleteUnexpired": True,
        "reservedHours": 72,
        "cleanRatio": 0.95,
        "forceRatio": 0.85,
        "refuseRatio": 0.9,
    }
    assert isinstance(deleted, dict) and deleted.pop("atMs") > 0
    assert deleted == {"segments": end >> 20, "bytes": end, "fromOffset": 0, "toOffset": end}
    found, here = await scrape(broker), labels()
    assert found["signalbox_deleted_unexpired_segments_total", here] == end >> 20
    assert found["signalbox_deleted_unexpired_bytes_total", here] == end
    assert found["signalbox_may_delete_unexpired", here] == 1
    await peer.close()


async def test_a_protected_broker_refuses_writes_and_deletes_nothing(
    start_broker: StartBroker, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    settings = {"signalboxProfile": "safe", "brokerRole": "ASYNC_MASTER", "minInSyncReplicas": "1"}
    settings |= {"authenticationEnabled": "false", "authorizationEnabled": "false"}
    broker = await start_broker(**SMALL_SEGMENTS, **settings, autoCreateTopicEnable="true")
    peer = Peer(broker.address)
    await _fill(peer, broker, 3)
    monkeypatch.setattr(housekeeping, "disk_space", lambda path: DiskSpace(0, 0, 0.95))
    await broker.inner.tasks.log.housekeeping.clean()
    assert broker.inner.core.store.log.min_offset == 0
    assert (await peer.send("orders")).code == ResponseCode.SERVICE_NOT_AVAILABLE
    told = await _retention(peer)
    assert told["mayDeleteUnexpired"] is False and "deletedUnexpired" not in told
    await peer.close()
