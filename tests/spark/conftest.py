"""One Spark session for all of these tests: starting one takes longer than most of what it is used for."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from spark.session import open_session


@pytest.fixture(scope="session")
def session() -> Iterator[SparkSession]:
    """Two cores and a driver of 1 GiB: what a laptop spares."""
    opened = open_session("tests", master="local[2]", settings={"spark.driver.memory": "1g"})
    yield opened
    opened.stop()
