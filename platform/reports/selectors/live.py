"""The newest runs of a cluster as rows of the live channel `reports/{cluster}`."""

from __future__ import annotations

from typing import Any

from clusters.models import Cluster
from clusters.selectors.live import plain
from reports.selectors.runs import runs_of

_SHOWN = (
    "id",
    "report",
    "state",
    "error",
    "progress",
    "attempts",
    "cancel_asked_at",
    "created_by",
    "created_at",
    "started_at",
    "finished_at",
    "expires_at",
)


def live_rows(cluster: Cluster, most: int) -> dict[str, dict[str, Any]]:
    rows = runs_of(cluster).order_by("-created_at").values(*_SHOWN, "schedule__name", "host__name")[:most]
    return {str(row["id"]): _row(row) for row in rows}


def _row(row: dict[str, Any]) -> dict[str, Any]:
    named = {"id": str(row["id"]), "schedule": row.pop("schedule__name"), "host": row.pop("host__name")}
    named["is_cancelling"] = row.pop("cancel_asked_at") is not None and row["state"] in ("queued", "running")
    return plain(row) | named
