"""One Spark session for all of these tests: starting one takes longer than most of what it is used for."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from spark.session import open_session
from tests.requirements_probe import need_package


@pytest.fixture(scope="session")
def session() -> Iterator[SparkSession]:
    """Two cores and a driver of 1 GiB: what a laptop spares. Java's second compiler costs these short jobs
    more than it saves them, and so does every empty part of a shuffle."""
    need_package("default-jdk-headless")
    settings = {
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m",
    }
    opened = open_session("tests", master="local[2]", settings=settings)
    yield opened
    opened.stop()
