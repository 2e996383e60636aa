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
from django.apps.registry import Apps
from django.core import serializers
from django.core.management.color import no_style
from django.db import connection, models, transaction
from django.db.migrations.recorder import MigrationRecorder

APPS = ("core", "clusters", "reports", "console")
LEFT_OUT = {"core.keptanswer", "core.writeprobe"}
_BATCH = 500


def tables(registry: Apps = apps) -> list[type[models.Model]]:
    """In any order: both databases look at what points where at the end of the transaction."""
    return [
        model
        for label in APPS
        for model in registry.get_models()
        if model._meta.app_label == label and model._meta.label_lower not in LEFT_OUT
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
def wipe(registry: Apps = apps) -> None:
    """With the tables between two tables, which no model of ours is."""
    known = tables(registry)
    between = [field.remote_field.through for model in known for field in model._meta.many_to_many]
    for model in (*between, *known):
        model._base_manager.all()._raw_delete("default")


def load(source: Iterable[bytes], registry: Apps = apps) -> dict[str, int]:
    """In the caller's transaction. The number of rows by table."""
    counts: dict[str, int] = {}
    label, batch = "", []
    for line in source:
        value = json.loads(line)
        if isinstance(value, dict) or len(batch) >= _BATCH:
            _insert(label, batch, registry)
            batch = []
        if isinstance(value, dict):
            label = value["table"]
            counts[label] = 0
        else:
            batch.append(value)
            counts[label] += 1
    _insert(label, batch, registry)
    connection.check_constraints()
    _raise_sequences(registry)
    return counts


def _insert(label: str, batch: list[list[Any]], registry: Apps) -> None:
    if not batch:
        return
    model = registry.get_model(label)
    found = [_read(model, key, fields) for key, fields in batch]
    # As they were: no save() of a model's own, no signals.
    model._base_manager.bulk_create([row for row, _ in found])
    for row, many in found:
        for name, keys in many.items():
            if keys:
                getattr(row, name).set(keys)


def _read(
    model: type[models.Model], key: Any, fields: dict[str, Any]
) -> tuple[models.Model, dict[str, list[Any]]]:
    """A row, and the keys of rows that it is joined with. By hand, because Django's deserializer knows only
    the models of today."""
    values: dict[str, Any] = {"pk": model._meta.pk.to_python(key)}
    many: dict[str, list[Any]] = {}
    for name, value in fields.items():
        field = model._meta.get_field(name)
        if field.many_to_many:
            many[name] = value
        elif isinstance(field, models.ForeignKey):
            values[field.attname] = field.target_field.to_python(value)
        else:
            values[name] = field.to_python(value)
    return model(**values), many


def _raise_sequences(registry: Apps) -> None:
    """PostgreSQL gives the next number from a counter that inserted keys did not move."""
    with connection.cursor() as cursor:
        for statement in connection.ops.sequence_reset_sql(no_style(), tables(registry)):
            cursor.execute(statement)
