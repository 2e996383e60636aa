"""The database in the shape that a backup was made in, for as long as its rows are loaded.

A backup of an earlier release has rows of that release's tables. The database goes back to them by reversing
the migrations that came since, the rows are loaded with the models of that time, and the migrations run again
over the rows, exactly as if the old database itself had been upgraded. So every migration must be reversible
(tests/upgrade restores a backup of each release). The caller has made sure that the database may be emptied.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from django.apps import apps
from django.apps.registry import Apps
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from console.backups import rows
from console.backups.archive import BadArchive

Node = tuple[str, str | None]


@contextmanager
def models_of(schema: Sequence[str]) -> Iterator[Apps]:
    """The models whose tables the rows of this schema (`app.migration`, …) fit into."""
    if list(schema) == rows.schema_versions():
        yield apps
        return
    executor = MigrationExecutor(connection)
    targets = _targets(executor, {(app, name) for app, _, name in (each.partition(".") for each in schema)})
    executor.migrate(targets)
    try:
        yield executor.loader.project_state([node for node in targets if node[1]]).apps
    finally:
        call_command("migrate", verbosity=0)


def _targets(executor: MigrationExecutor, wanted: set[tuple[str, str]]) -> list[Node]:
    """The last migration of each app that the backup knows; None takes an app away altogether."""
    graph = executor.loader.graph
    unknown = wanted - set(graph.nodes)
    if unknown:
        app, name = min(unknown)
        raise BadArchive(f"the backup is of a newer release: the migration {app}.{name} is not known here")
    last: dict[str, Node] = {app: (app, None) for app in executor.loader.migrated_apps}
    for leaf in graph.leaf_nodes():
        for app, name in graph.forwards_plan(leaf):
            if (app, name) in wanted:
                last[app] = (app, name)
    return list(last.values())
