"""Where messages come from: `commitlog` reads the files of stores, `live` asks brokers over the wire.

`register(session)` makes both known to a session. A source plans (which files, which ranges) on the driver
and decodes in the workers; what is planned is small and plain, so that it travels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register(session: SparkSession) -> None:
    """Make the sources known as formats, each under its name."""
    from spark.sources.commitlog import CommitLogSource
    from spark.sources.live import LiveSource

    for source in (CommitLogSource, LiveSource):
        session.dataSource.register(source)
