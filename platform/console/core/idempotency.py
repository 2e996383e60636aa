"""Idempotency-Key: a POST that is sent again with the same key gets the first answer again.

The key belongs to the user and to one request (method, path, body); for another request it is refused with
422. While the first is under way, the second is told to wait (409). Server errors are not kept, so that they
can be tried again. Answers are kept for a day.
"""

from __future__ import annotations

import hashlib
import json
from datetime import timedelta

from django.db import IntegrityError, transaction
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from console.core.models.idempotency import KeptAnswer
from console.core.problems import Problem
from console.core.rendering import JsonRenderer
from console.core.sealing import seal, unseal

HEADER = "Idempotency-Key"
KEPT_FOR = timedelta(days=1)
_UNDER_WAY_FOR = timedelta(minutes=10)
"""After that the first request is taken for dead."""


def begin(request: Request) -> KeptAnswer | Response | None:
    """None: no key was given. A response: the kept one. A row: do it, then `finish`."""
    key = request.headers.get(HEADER, "")
    if not key or not request.user.is_authenticated:
        return None
    if len(key) > 128:
        raise Problem("idempotency_key", f"{HEADER} is longer than 128 characters", 400, field=HEADER)
    digest = hashlib.sha256(
        b"\0".join([request.method.encode(), request.get_full_path().encode(), request.body])
    ).hexdigest()
    now = timezone.now()
    KeptAnswer.objects.filter(user=request.user, key=key, created_at__lt=now - KEPT_FOR).delete()
    KeptAnswer.objects.filter(
        user=request.user, key=key, status=None, created_at__lt=now - _UNDER_WAY_FOR
    ).delete()
    try:
        with transaction.atomic():
            return KeptAnswer.objects.create(
                user=request.user, key=key, request_digest=digest, created_at=now
            )
    except IntegrityError:
        return _again(KeptAnswer.objects.get(user=request.user, key=key), digest)


def finish(kept: KeptAnswer, response: Response) -> None:
    if response.status_code >= 500:
        kept.delete()
        return
    kept.status = response.status_code
    kept.sealed_body = seal((JsonRenderer().render(response.data) or b"null").decode())
    kept.save()


def _again(kept: KeptAnswer, digest: str) -> Response:
    if kept.request_digest != digest:
        raise Problem("idempotency_key", f"this {HEADER} was used for another request", 422, field=HEADER)
    if kept.status is None:
        raise Problem("under_way", "the first request with this key is still under way", 409)
    return Response(json.loads(unseal(kept.sealed_body)), kept.status, headers={"Idempotent-Replay": "true"})
