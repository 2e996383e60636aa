"""Trigram indexes for the one search, on PostgreSQL alone; SQLite scans, which is quick at its sizes.

`icontains` compares in capitals, so the indexes are on UPPER(name). Where the extension may not be made (it
takes the right to create in the database), searching works without, only slower.
"""

import logging

from django.db import DatabaseError, migrations, transaction

log = logging.getLogger(__name__)
TABLES = ("LiveTopic", "LiveGroup")


def make(apps, schema_editor):
    if schema_editor.connection.vendor != "postgresql":
        return
    try:
        with transaction.atomic(using=schema_editor.connection.alias):
            schema_editor.execute("CREATE EXTENSION IF NOT EXISTS pg_trgm")
            for name in TABLES:
                table = apps.get_model("clusters", name)._meta.db_table
                schema_editor.execute(
                    f'CREATE INDEX "{table}_name_trgm" ON "{table}" USING gin (UPPER(name) gin_trgm_ops)'
                )
    except DatabaseError as error:
        log.warning("searching goes without trigram indexes: %s", error)


def drop(apps, schema_editor):
    if schema_editor.connection.vendor != "postgresql":
        return
    for name in TABLES:
        table = apps.get_model("clusters", name)._meta.db_table
        schema_editor.execute(f'DROP INDEX IF EXISTS "{table}_name_trgm"')


class Migration(migrations.Migration):
    initial = True
    dependencies = [("clusters", "__first__")]
    operations = [migrations.RunPython(make, drop)]
