"""What a broker keeps beside its log: committed offsets, topics and groups, from the JSON files of `config/`.

    config/consumerOffset.json       {"offsetTable": {"topic@group": {queue: offset}}}
    config/topics.json               {"topicConfigTable": {topic: {…}}}
    config/subscriptionGroup.json    {"subscriptionGroupTable": {group: {…}}}

A broker saves these every few seconds and keeps the version before as `.bak`: what cannot be read is taken
from there, as the broker itself does. A store without the file (an archive, a broker that never saved) knows
nothing, which the caller must be able to tell from an empty table: None. Read on the driver: the largest of
them are megabytes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine.errors import BadInput, EngineError
from engine.protocol import fastjson
from spark.sources.files import inside, read_whole
from spark.sources.stores import Store

__all__ = ["committed_rows", "name_rows"]

_LIMIT_BYTES = 256 << 20
_INHERIT = 1
Row = dict[str, Any]


def committed_rows(store: Store) -> list[Row] | None:
    """As `spark.transforms.subscriptions.COMMITTED`; None when the store has no such file."""
    table = _table(store, "consumerOffset.json", "offsetTable")
    if table is None:
        return None
    place = _place(store)
    rows: list[Row] = []
    for name, queues in table.items():
        topic, separator, group = str(name).partition("@")
        if separator and isinstance(queues, dict):
            rows += [
                {**place, "topic": topic, "group": group, "queue_id": int(queue), "committed": int(offset)}
                for queue, offset in queues.items()
            ]
    return rows


def name_rows(store: Store) -> list[Row] | None:
    """As `spark.transforms.unused.NAMES`; None when the store has no such files."""
    files = {
        "topic": ("topics.json", "topicConfigTable"),
        "group": ("subscriptionGroup.json", "subscriptionGroupTable"),
    }
    tables = {kind: _table(store, *file) for kind, file in files.items()}
    if all(table is None for table in tables.values()):
        return None
    return [
        {**_place(store), "kind": kind, "name": str(name)}
        for kind, table in tables.items()
        for name, config in (table or {}).items()
        if not _is_template(config)
    ]


def _is_template(config: Any) -> bool:
    """Topics that others are made after, such as those that are called as the cluster and the broker are."""
    perm = config.get("perm") if isinstance(config, dict) else None
    return isinstance(perm, int) and bool(perm & _INHERIT)


def _place(store: Store) -> Row:
    return {"cluster": store.cluster, "broker": store.broker, "store": store.place}


def _table(store: Store, file: str, member: str) -> dict[Any, Any] | None:
    if store.is_archive:
        return None
    place = inside(store.place, "config", file)
    texts = [text for text in (read_whole(place), read_whole(place + ".bak")) if text is not None]
    for text in texts:
        found = _parsed(text, member)
        if found is not None:
            return found
    if texts:
        raise BadInput(f"{place} cannot be read, nor can what was saved before it")
    return None


def _parsed(text: bytes, member: str) -> dict[Any, Any] | None:
    """None when it is not what it should be: cut by a crash, say."""
    loads: Callable[..., Any] = fastjson.loads
    try:
        found = loads(text, dialect_limit_bytes=_LIMIT_BYTES)
    except EngineError:
        return None
    table = found.get(member) if isinstance(found, dict) else None
    return table if isinstance(table, dict) else None
