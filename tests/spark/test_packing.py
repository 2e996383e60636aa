"""The packed environment: made of what is installed here, unpacked elsewhere, and used by Spark's workers
where nothing else of ours can be found."""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from spark.packing import main, packed_distributions
from tests.spark.shop import ORDER_COUNT, write_store
from tests.spark.standalone import ROOT, SPARK_HOME, SparkCluster, environment, spark_cluster, spark_submit

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(1200)]

# Runs in the driver and in the workers: what each imports, and from where.
LOOK = """
import json, sys
import engine.protocol._places_cy as places
import spark.sources.commitlog, engine.client, pyarrow, pandas
import engine
print(json.dumps([sys.prefix, places.__file__, engine.__file__, pyarrow.__file__]))
"""
PROGRAM = """
import json, sys
from spark.session import open_session
session = open_session("packed")

def where(number):
    import engine.protocol._places_cy as places
    import spark.sources.commitlog as source
    return sys.prefix, places.__file__, source.__file__

found = session.sparkContext.parallelize(range(8), 8).map(where).distinct().collect()
counted = session.read.format("commitlog").option("topics", "orders").load(sys.argv[1]).count()
print("FOUND", json.dumps([found, counted]))
session.stop()
"""


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file, and beside it what it holds, as docs/reports.md says."""
    home = tmp_path_factory.mktemp("packed")
    file = home / "environment.tar.gz"
    assert main([f"--output={file}"]) == 0
    (home / "environment").mkdir()
    subprocess.run(["tar", "-xzf", file, "-C", home / "environment"], check=True)
    return file


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkCluster]:
    with spark_cluster(tmp_path_factory.mktemp("cluster")) as started:
        yield started


def test_an_unpacked_environment_has_all_that_reading_needs(packed: Path) -> None:
    unpacked = packed.parent / "environment"
    with tarfile.open(packed) as archive:
        names = archive.getnames()
    compiled = [name for name in names if "/engine/protocol/" in name and name.endswith(".so")]
    assert compiled, "compiled modules are in it"
    assert not [name for name in names if "/pyspark/" in name or "__pycache__" in name]
    # pyspark comes with the cluster's Spark.
    libraries = sorted(str(path) for path in (SPARK_HOME / "python" / "lib").glob("*.zip"))
    env = {"PATH": "/usr/bin:/bin", "PYTHONPATH": ":".join(libraries)}
    said = subprocess.run(
        [unpacked / "bin" / "python", "-c", LOOK],
        env=env,
        cwd="/",
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert said.returncode == 0, said.stderr
    for place in json.loads(said.stdout):
        assert Path(place).is_relative_to(unpacked), place
    assert "pyarrow" in packed_distributions() and "pyspark" not in packed_distributions()


def test_workers_read_a_store_with_the_packed_environment_alone(
    packed: Path, cluster: SparkCluster, tmp_path: Path
) -> None:
    store = write_store("signalbox", tmp_path / "shop").store
    program = packed.parent / "program.py"
    program.write_text(PROGRAM)
    env = environment(
        PYSPARK_DRIVER_PYTHON=sys.executable,
        PYSPARK_PYTHON="./environment/bin/python",
    )
    done = spark_submit(
        program,
        [str(store)],
        master=cluster.master,
        options=["--archives", f"{packed}#environment"],
        env=env,
        cwd=packed.parent,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("FOUND ")]
    found, counted = json.loads(line.removeprefix("FOUND "))
    assert counted >= ORDER_COUNT
    assert len(found) == len(cluster.work_dirs), "every worker unpacked its own"
    for places in found:
        for place in places:
            assert any(Path(place).is_relative_to(folder) for folder in cluster.work_dirs), place
        assert places[1].endswith(".so"), "compiled"


def test_a_report_runs_as_the_documents_say(packed: Path, cluster: SparkCluster, tmp_path: Path) -> None:
    store = write_store("signalbox", tmp_path / "shop").store
    env = environment(PYSPARK_DRIVER_PYTHON=sys.executable, PYSPARK_PYTHON="./environment/bin/python")
    done = spark_submit(
        ROOT / "spark" / "jobs" / "retention.py",
        [f"--store={store}", f"--output={tmp_path / 'reports'}"],
        master=cluster.master,
        options=["--archives", f"{packed}#environment"],
        env=env,
        cwd=packed.parent,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    (summary,) = (tmp_path / "reports").glob("report=retention/day=*/run=*/summary.json")
    assert int(json.loads(summary.read_bytes())["figures"]["messages"]) >= ORDER_COUNT


def test_a_place_that_cannot_be_written_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([f"--output={tmp_path / 'nowhere' / 'environment.tar.gz'}"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"error: {tmp_path / 'nowhere' / 'environment.tar.gz'}: No such file")
