"""The Celery app: workers of hosts, control and reports, and the beat that wakes them."""

from __future__ import annotations

import os

from celery import Celery

from console.schedule import SCHEDULE

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")

app = Celery("signalbox")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.conf.beat_schedule = SCHEDULE
app.autodiscover_tasks()
