"""Whether this host can run Spark; if not, what is missing, in one sentence that its operator can act on.

Spark is an optional extra: everything else of the console works without it.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping
from pathlib import Path

from spark.session import missing_parts


def missing(environment: Mapping[str, str] = os.environ) -> str:
    """Empty: nothing is."""
    if said := missing_parts():
        return said
    if spark_submit(environment) is None:
        return f"Spark cannot run: there is no bin/spark-submit below {environment.get('SPARK_HOME')}"
    return ""


def spark_submit(environment: Mapping[str, str] = os.environ) -> Path | None:
    """SPARK_HOME's, else the one that PySpark brings."""
    home = environment.get("SPARK_HOME")
    if not home:
        spec = importlib.util.find_spec("pyspark")
        if spec is None or spec.origin is None:
            return None
        home = str(Path(spec.origin).parent)
    script = Path(home) / "bin" / "spark-submit"
    return script if script.is_file() else None
