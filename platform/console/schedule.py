"""What beat wakes, and how often. Every entry is a wake-up that may be lost: the next one does the same."""

from __future__ import annotations

from typing import Any

TICK_S = 5.0
JOBS_S = 10.0
ALERTS_S = 10.0
REPORTS_S = 5.0

SCHEDULE: dict[str, dict[str, Any]] = {
    "tick": {
        "task": "clusters.tasks.hosts.tick",
        "schedule": TICK_S,
        # One that was not fetched in time is not worth fetching.
        "options": {"queue": "control", "expires": TICK_S},
    },
    "searches": {
        "task": "clusters.tasks.searches.look_after_searches",
        "schedule": JOBS_S,
        "options": {"queue": "control", "expires": JOBS_S},
    },
    "redrives": {
        "task": "clusters.tasks.redrives.look_after_redrives",
        "schedule": JOBS_S,
        "options": {"queue": "control", "expires": JOBS_S},
    },
    "alerts": {
        "task": "clusters.tasks.alerts.evaluate",
        "schedule": ALERTS_S,
        "options": {"queue": "control", "expires": ALERTS_S},
    },
    "reports": {
        "task": "reports.tasks.runs.look_after_reports",
        "schedule": REPORTS_S,
        "options": {"queue": "control", "expires": REPORTS_S},
    },
}
