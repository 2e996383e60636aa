"""Is the console alive (healthz), and can it serve (readyz)?

Ready means: the database answers and takes a write, the data root has room, Redis answers. What is not well
is said in a sentence, without paths, because anybody may ask. The write is a real, committed one, since a
disk is found full only then; it changes one row of its own and is made at most every five seconds per
process.
"""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from django.conf import settings
from django.core.cache import cache
from django.db import DatabaseError, connection
from django.http import HttpRequest, JsonResponse
from django.utils import timezone
from redis.exceptions import RedisError

from console.core.models.probes import WriteProbe
from console.core.storage_errors import storage_problem

LEAST_ROOM_BYTES = 32 * 1024 * 1024
"""Below it a larger write may fail although the small one of the probe does not."""
PROBED_EVERY_S = 2.0
_LOCK_WAIT_MS = 1_000


class KeptVerdict:
    """What a check said, kept for a while: readiness is asked by anybody, as often as they like."""

    def __init__(self, check: Callable[[], str | None], every_s: float) -> None:
        self._check, self._every_s = check, every_s
        self._lock = threading.Lock()
        self._until_s = float("-inf")
        self._reason: str | None = None

    def reason(self, now_s: float) -> str | None:
        with self._lock:
            if now_s >= self._until_s:
                self._reason, self._until_s = self._check(), now_s + self._every_s
            return self._reason


def healthz(request: HttpRequest) -> JsonResponse:
    return JsonResponse({"status": "ok"})


def readyz(request: HttpRequest) -> JsonResponse:
    database = _why_no_read()
    found = {
        "database": database,
        "writes": database or _writes.reason(time.monotonic()),
        "room": why_no_room(settings.DATA_ROOT.path),
        "redis": _why_no_redis(),
    }
    reasons = list(dict.fromkeys(reason for reason in found.values() if reason))
    body = {
        "status": "not ready" if reasons else "ok",
        "checks": {name: not why for name, why in found.items()},
    }
    return JsonResponse(body | ({"reasons": reasons} if reasons else {}), status=503 if reasons else 200)


def _why_no_read() -> str | None:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        return None
    except DatabaseError as error:
        return _sentence(error, "the database does not answer")


def why_no_write(now: datetime) -> str | None:
    try:
        if connection.vendor == "sqlite":
            # A write of somebody else may hold the lock for long; this one does not wait for it.
            with connection.cursor() as cursor:
                cursor.execute(f"PRAGMA busy_timeout = {_LOCK_WAIT_MS}")
        try:
            WriteProbe.objects.update_or_create(pk=1, defaults={"written_at": now})
        finally:
            if connection.vendor == "sqlite":
                with connection.cursor() as cursor:
                    wait_s = connection.settings_dict["OPTIONS"].get("timeout", 5)
                    cursor.execute(f"PRAGMA busy_timeout = {int(wait_s * 1000)}")
        return None
    except DatabaseError as error:
        if "locked" in str(error):
            # Others are writing right now.
            return None
        return _sentence(error, "the database takes no writes")


def why_no_room(folder: Path) -> str | None:
    try:
        free = shutil.disk_usage(folder).free
    except OSError as error:
        return f"the data root cannot be read: {error.strerror}"
    if free >= LEAST_ROOM_BYTES:
        return None
    least = LEAST_ROOM_BYTES // (1024 * 1024)
    return f"the disk of the data root has {free // (1024 * 1024)} MB left, less than {least} MB"


def _why_no_redis() -> str | None:
    try:
        cache.get("readyz")
        return None
    except (RedisError, OSError):
        return "Redis does not answer"


def _sentence(error: DatabaseError, otherwise: str) -> str:
    problem = storage_problem(error)
    return otherwise if problem is None else problem.detail


_writes = KeptVerdict(lambda: why_no_write(timezone.now()), PROBED_EVERY_S)
