"""Rows as lines and back, for every table that is ours, from one moment of the database.

Left out, because they are worth nothing later: sessions, answers kept for a day, what /readyz writes,
Django's own lists of tables and permissions. Both databases can show one moment while others go on writing:
SQLite by its write-ahead log, PostgreSQL by REPEATABLE READ.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from django.apps import apps
from django.core import serializers
from django.core.management.color import no_style
from django.db import connection, models, transaction
from django.db.migrations.recorder import MigrationRecorder

APPS = ("core", "clusters", "reports", "console")
LEFT_OUT = {"core.keptanswer", "core.writeprobe"}
_BATCH = 500


def tables() -> list[type[models.Model]]:
    """In any order: both databases look at what points where at the end of the transaction."""
    return [
        model
        for label in APPS
        for model in apps.get_app_config(label).get_models()
        if model._meta.label_lower not in LEFT_OUT
    ]


def schema_versions() -> list[str]:
    applied = MigrationRecorder(connection).applied_migrations()
    return sorted(f"{app}.{name}" for app, name in applied)


@contextmanager
def one_moment() -> Iterator[None]:
    """What is read inside does not change, and nobody who writes waits for it."""
    assert not connection.in_atomic_block, "a transaction that may have written is not a moment for all"
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            # Not atomic(): its transactions are for writers (IMMEDIATE). In WAL mode this one is a snapshot.
            cursor.execute("BEGIN DEFERRED")
            try:
                yield
            finally:
                cursor.execute("ROLLBACK")
        return
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        yield


def lines(counts: dict[str, int]) -> Iterator[bytes]:
    """`counts` is filled on the way."""
    for model in tables():
        label = model._meta.label_lower
        yield json.dumps({"table": label}).encode() + b"\n"
        rows = model._base_manager.order_by("pk").iterator(chunk_size=_BATCH)
        counts[label] = 0
        for row in rows:
            [value] = serializers.serialize("python", [row])
            counts[label] += 1
            yield json.dumps([value["pk"], value["fields"]], default=_text).encode() + b"\n"


def _text(value: Any) -> str:
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def is_empty() -> bool:
    return not any(model._base_manager.exists() for model in tables())


@transaction.atomic
def wipe() -> None:
    """With the tables between two tables, which no model of ours is."""
    between = [field.remote_field.through for model in tables() for field in model._meta.many_to_many]
    for model in (*between, *tables()):
        model._base_manager.all()._raw_delete("default")


def load(source: Iterable[bytes]) -> dict[str, int]:
    """In the caller's transaction. The number of rows by table."""
    counts: dict[str, int] = {}
    label, batch = "", []
    for line in source:
        value = json.loads(line)
        if isinstance(value, dict) or len(batch) >= _BATCH:
            _insert(batch)
            batch = []
        if isinstance(value, dict):
            label = value["table"]
            counts[label] = 0
        else:
            batch.append({"model": label, "pk": value[0], "fields": value[1]})
            counts[label] += 1
    _insert(batch)
    connection.check_constraints()
    _raise_sequences()
    return counts


def _insert(batch: list[dict[str, Any]]) -> None:
    if not batch:
        return
    model = apps.get_model(batch[0]["model"])
    found = list(serializers.deserialize("python", batch))
    # As they were: no save() of a model's own, no signals.
    model._base_manager.bulk_create([each.object for each in found])
    for each in found:
        for name, keys in (each.m2m_data or {}).items():
            if keys:
                getattr(each.object, name).set(keys)


def _raise_sequences() -> None:
    """PostgreSQL gives the next number from a counter that inserted keys did not move."""
    with connection.cursor() as cursor:
        for statement in connection.ops.sequence_reset_sql(no_style(), tables()):
            cursor.execute(statement)
