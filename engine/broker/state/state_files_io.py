"""Which table is kept in which file under config/, and how it is read back at the start.

A file that cannot be read, and whose .bak cannot either, refuses the start: going on with an empty table
would forget topics, consume everything again, or silently undo what an administrator decided.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import orjson

from engine.broker.clients.queue_assignment import REQUEST_MODES_FILE, RequestModes
from engine.broker.delivery.delay_levels import DELAY_OFFSETS_FILE, DelayOffsets
from engine.broker.delivery.timed_messages import TIMER_METRICS_FILE, TimerCounts
from engine.broker.groups.group_table import GROUPS_FILE, GroupsChange, SubscriptionGroupTable
from engine.broker.offsets.offset_table import OFFSETS_FILE, ConsumerOffsets
from engine.broker.pop.orders import ORDER_FILE, OrderInfoWrapper, OrderTable
from engine.broker.settings.config_changes import CHANGES_FILE, ConfigChanges, encode_changes
from engine.broker.settings.options import BrokerOptions
from engine.broker.state.state_file_io import (
    ChangeFile,
    StateFile,
    TableChanges,
    apply_change,
    image_of,
    read_changes,
)
from engine.broker.state.tables import Found, Image, Tables
from engine.broker.topics.topic_table import TOPICS_FILE, TopicsChange, TopicsImage, TopicTable
from engine.durable_file import read_durable
from engine.errors import BadInput, EngineError
from engine.protocol import fastjson
from engine.protocol.bodies.groups import MessageRequestModeSerializeWrapper, SubscriptionGroupWrapper
from engine.protocol.bodies.offsets import ConsumerOffsetSerializeWrapper, DelayOffsetSerializeWrapper
from engine.protocol.bodies.topics import TopicConfigSerializeWrapper
from engine.protocol.wire import Body

log = logging.getLogger(__name__)

_FILE_LIMIT_BYTES = 1 << 30
_T = TypeVar("_T")
_B = TypeVar("_B", bound=Body)


def load_tables(directory: Path) -> Tables:
    topics, topics_found = _load_with_changes(directory / TOPICS_FILE, TopicConfigSerializeWrapper)
    groups, groups_found = _load_with_changes(directory / GROUPS_FILE, SubscriptionGroupWrapper)
    offsets = ConsumerOffsets()
    stored = _load(directory / OFFSETS_FILE, ConsumerOffsetSerializeWrapper)
    if stored is not None:
        offsets.load(stored.offset_table, stored.data_version)
    table = TopicTable(topics.topic_config_table, topics.data_version) if topics else TopicTable()
    delays = DelayOffsets(_load(directory / DELAY_OFFSETS_FILE, DelayOffsetSerializeWrapper))
    orders = OrderTable(_load(directory / ORDER_FILE, OrderInfoWrapper))
    counts = _load_timer_counts(directory)
    modes = RequestModes(load_file(directory / REQUEST_MODES_FILE, MessageRequestModeSerializeWrapper.decode))
    found = {TOPICS_FILE: topics_found, GROUPS_FILE: groups_found}
    return Tables(table, SubscriptionGroupTable(groups), offsets, delays, counts, orders, modes, found)


def _load_timer_counts(directory: Path) -> TimerCounts:
    """Only statistics: a damaged file is replaced by an empty table."""
    content, _ = read_durable(directory / TIMER_METRICS_FILE, orjson.loads)
    table = content.get("timingCount") if isinstance(content, dict) else None
    rows = table if isinstance(table, dict) else {}
    return TimerCounts(
        {
            topic: row["count"]
            for topic, row in rows.items()
            if isinstance(row, dict) and isinstance(row.get("count"), int)
        }
    )


def state_files(directory: Path, tables: Tables, now_ms: Callable[[], int]) -> dict[str, StateFile]:
    topics, groups, offsets = tables.topics, tables.groups, tables.offsets
    delays, timer_counts, orders = tables.delays, tables.timer_counts, tables.orders
    files = (
        StateFile(
            directory / TOPICS_FILE,
            topics.image,
            TopicsImage.encode,
            topics.saved,
            changes=TableChanges(topics.take_change, TopicsChange.encode),
            change_file=_change_file(directory / TOPICS_FILE, tables.found),
        ),
        StateFile(
            directory / GROUPS_FILE,
            groups.snapshot,
            _encode_body,
            changes=TableChanges(groups.take_change, GroupsChange.encode),
            change_file=_change_file(directory / GROUPS_FILE, tables.found),
        ),
        StateFile(
            directory / OFFSETS_FILE,
            lambda: offsets.snapshot(now_ms()),
            fastjson.dumps_pretty,
            failed=offsets.mark_dirty,
            without_log=offsets.without_given,
        ),
        StateFile(
            directory / DELAY_OFFSETS_FILE,
            lambda: delays.snapshot(now_ms()),
            _encode_body,
            failed=delays.mark_dirty,
        ),
        StateFile(
            directory / TIMER_METRICS_FILE, lambda: timer_counts.snapshot(now_ms()), fastjson.dumps_pretty
        ),
        StateFile(directory / ORDER_FILE, orders.snapshot, _encode_body, failed=orders.mark_dirty),
        StateFile(directory / REQUEST_MODES_FILE, tables.modes.snapshot, _encode_body),
    )
    return {file.path.name: file for file in files}


def _change_file(path: Path, found: Mapping[str, Found]) -> ChangeFile:
    known = found.get(path.name, Found())
    return ChangeFile(path, known.image, has_changes=known.has_changes)


def restored_changes(directory: Path, options: BrokerOptions) -> ConfigChanges:
    """Settings that administrators changed at run time win over broker.conf, and are named in the log."""
    changes = ConfigChanges(options.live, options.protects_unexpired, options.configures_deletion)
    text = load_file(directory / CHANGES_FILE, lambda data: data.decode("utf-8")) or ""
    for refusal in changes.restore(text):
        log.warning("%s: %s", CHANGES_FILE, refusal)
    for name, value in changes.snapshot().items():
        log.warning("%s=%s comes from %s, not from broker.conf", name, value, CHANGES_FILE)
    return changes


def changes_file(directory: Path, changes: ConfigChanges) -> StateFile:
    return StateFile(
        directory / CHANGES_FILE, changes.snapshot, encode_changes, changes.saved, changes.failed
    )


def _load_with_changes(path: Path, shape: type[_B]) -> tuple[_B | None, Found]:
    """The table, with the changes that belong to the file that was read."""
    image: Image | None = None
    has_changes = False

    def parse(data: bytes) -> _B:
        nonlocal image, has_changes
        content = _json(data)
        changes, damage = read_changes(path, image_of(data))
        if damage is not None:
            log.warning("%s: %s", path.parent, damage)
        for change in changes:
            apply_change(content, change)
        table = shape.from_json(content)
        image, has_changes = image_of(data), bool(changes) or damage is not None
        return table

    table, damage = _read(path, parse)
    return table, Found(image if damage is None and path.exists() else None, has_changes)


def _load(path: Path, shape: type[_B]) -> _B | None:
    return load_file(path, lambda data: shape.from_json(_json(data)))


def load_file(path: Path, decode: Callable[[bytes], _T]) -> _T | None:
    return _read(path, decode)[0]


def _read(path: Path, decode: Callable[[bytes], _T]) -> tuple[_T | None, str | None]:
    """The file's content (None: there is no file), and why its .bak was read instead."""

    def parse(data: bytes) -> _T:
        try:
            return decode(data)
        except EngineError as error:
            raise ValueError(error.text) from None

    content, damage = read_durable(path, parse)
    if content is None and damage is not None:
        raise BadInput(f"{path}: {damage}; restore it, or move it and its .bak away to start without it")
    if damage is not None:
        log.warning("%s: %s; its .bak was read instead", path, damage)
    return content, damage


def _json(data: bytes) -> Any:
    return fastjson.loads(data, dialect_limit_bytes=_FILE_LIMIT_BYTES)


def _encode_body(body: Body) -> bytes:
    return fastjson.dumps_pretty(body.to_json())
