"""Runs told to open browsers: channel `reports/{cluster}`. Only that something changed: rows say what."""

from __future__ import annotations

from console.core.events import publish
from reports.models import ReportRun


def tell(run: ReportRun) -> None:
    publish(f"reports/{run.cluster.name}", {"kind": "run", "id": str(run.pk), "state": str(run.state)})
