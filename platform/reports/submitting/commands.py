"""The command line and the environment of one run. Pure: the same values give the same words.

Every value stands behind its own `--name=`, so that none can be taken for an option. The environment is an
allow-list: neither the console's key nor the address of its database reaches Spark.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

_KEPT = frozenset(
    ("PATH", "HOME", "LANG", "TZ", "USER", "LOGNAME", "JAVA_HOME", "KUBECONFIG", "LD_LIBRARY_PATH")
)
_KEPT_PREFIXES = ("LC_", "SPARK_", "PYSPARK_", "HADOOP_", "YARN_", "AWS_", "AZURE_", "GOOGLE_", "SSL_CERT_")
_HEAP_SHARE = 3
"""The rest is for Python's workers, Arrow's batches and what Java needs besides its heap."""


@dataclass(frozen=True, slots=True)
class Submission:
    spark_submit: Path
    job: Path
    master: str
    memory_mb: int
    """Of all processes of the run together."""
    cluster: str
    stores: tuple[str, ...]
    """As `--store` takes them: `cluster/broker=PATH`."""
    begin: datetime | None
    end: datetime | None
    time_zone: str
    run_id: str
    output: Path
    progress: Path
    temporary: Path
    arguments: tuple[str, ...]

    @property
    def heap_mb(self) -> int:
        return max(512, self.memory_mb // _HEAP_SHARE)


def command_of(wanted: Submission) -> list[str]:
    return [*_spark(wanted), str(wanted.job), *_job(wanted)]


def _spark(wanted: Submission) -> list[str]:
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "WARN",
        "spark.local.dir": str(wanted.temporary),
        # Hadoop sets modes by itself, whatever the process's own umask is: results are for their owner alone.
        "spark.hadoop.fs.permissions.umask-mode": "077",
        # A source that takes filters is a hard error without it.
        "spark.sql.python.filterPushdown.enabled": "true",
    }
    if wanted.master.startswith("local"):
        # 200, Spark's default, is for clusters: here every empty one costs a task.
        settings["spark.sql.shuffle.partitions"] = "8"
    confs = [part for name, value in settings.items() for part in ("--conf", f"{name}={value}")]
    return [
        str(wanted.spark_submit),
        "--master",
        wanted.master,
        "--driver-memory",
        f"{wanted.heap_mb}m",
        "--name",
        f"signalbox {wanted.job.stem} {wanted.run_id}",
        *confs,
    ]


def _job(wanted: Submission) -> list[str]:
    times = {"from": wanted.begin, "to": wanted.end}
    return [
        *(f"--store={store}" for store in wanted.stores),
        f"--cluster={wanted.cluster}",
        *(f"--{name}={moment.isoformat()}" for name, moment in times.items() if moment is not None),
        f"--time-zone={wanted.time_zone}",
        f"--run-id={wanted.run_id}",
        f"--output={wanted.output}",
        f"--progress={wanted.progress}",
        *wanted.arguments,
    ]


def environment_of(
    given: Mapping[str, str], *, master: str, python: str, sources: Sequence[Path]
) -> dict[str, str]:
    kept = {name: value for name, value in given.items() if name in _KEPT or name.startswith(_KEPT_PREFIXES)}
    kept["PYTHONPATH"] = ":".join(map(str, sources))
    kept.setdefault("PYSPARK_PYTHON", python)
    kept.setdefault("PYSPARK_DRIVER_PYTHON", python)
    if master.startswith("local"):
        # Otherwise Spark looks for an address of this machine that others reach, and binds it.
        kept.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    return kept
