"""Is the console alive (healthz), and can it serve (readyz: database and Redis answer)?"""

from __future__ import annotations

from django.core.cache import cache
from django.db import DatabaseError, connection
from django.http import HttpRequest, JsonResponse
from redis.exceptions import RedisError


def healthz(request: HttpRequest) -> JsonResponse:
    return JsonResponse({"status": "ok"})


def readyz(request: HttpRequest) -> JsonResponse:
    checks = {"database": _database(), "redis": _redis()}
    is_ready = all(checks.values())
    return JsonResponse(
        {"status": "ok" if is_ready else "not ready", "checks": checks}, status=200 if is_ready else 503
    )


def _database() -> bool:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        return True
    except DatabaseError:
        return False


def _redis() -> bool:
    try:
        cache.get("readyz")
        return True
    except (RedisError, OSError):
        return False
