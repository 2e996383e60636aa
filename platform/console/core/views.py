"""What every view of the REST API starts from: declared needs, an actor, idempotent POSTs, dry runs."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any, ClassVar

from django.db import DatabaseError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from console.core import idempotency
from console.core.actors import Actor, actor_of
from console.core.models.idempotency import KeptAnswer
from console.core.needs import Need, grants_for
from console.core.problems import Problem
from console.core.rights import Grants
from console.core.storage_errors import storage_problem

log = logging.getLogger(__name__)
_YES, _NO = ("1", "true", "yes"), ("", "0", "false", "no")


class PlatformView(APIView):
    """`needs` says per method who may call it; a method that is not in it is refused."""

    needs: ClassVar[dict[str, Need]] = {}
    name_kwarg: ClassVar[str] = "name"

    @property
    def actor(self) -> Actor:
        return actor_of(self.request)

    @property
    def grants(self) -> Grants:
        return grants_for(self.request)

    @property
    def is_dry_run(self) -> bool:
        return flag(self.request, "dry_run")

    def require(self, role: int, cluster: str, name: str) -> None:
        """For names that stand in the body instead of the address."""
        if not self.grants.may(role, cluster, name):
            raise Problem("permission_denied", f"you may not do this to {name!r}", 403)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        refuse_unstorable(request.query_params.lists(), kwargs)
        self._kept: KeptAnswer | None = None
        if request.method == "POST":
            begun = idempotency.begin(request)
            if isinstance(begun, Response):
                raise _Replay(begun)
            self._kept = begun

    def handle_exception(self, error: Exception) -> Response:
        if isinstance(error, _Replay):
            return error.response
        return super().handle_exception(error)

    def finalize_response(self, request: Request, response: Response, *args: Any, **kwargs: Any) -> Response:
        kept, self._kept = getattr(self, "_kept", None), None
        if kept is not None:
            _keep(kept, response)
        return super().finalize_response(request, response, *args, **kwargs)


def _keep(kept: KeptAnswer, response: Response) -> None:
    """A full disk does not take back what was done: the caller learns of that, and may ask again later."""
    try:
        idempotency.finish(kept, response)
    except DatabaseError as error:
        if storage_problem(error) is None:
            raise
        log.warning("an answer was not kept for repeated requests: %s", error)


def refuse_unstorable(query: Iterable[tuple[str, list[Any]]], kwargs: dict[str, Any]) -> None:
    """PostgreSQL knows no text with a NUL or half a character in it: bad input, not our failure."""
    for name, values in [*query, *((name, [value]) for name, value in kwargs.items())]:
        for text in (value for value in values if isinstance(value, str)):
            if any(char == "\0" or "\ud800" <= char <= "\udfff" for char in text):
                raise Problem("invalid", f"{name} has a character that no name has", 400, field=name)


class _Replay(Exception):
    def __init__(self, response: Response) -> None:
        self.response = response


def flag(request: Request, name: str) -> bool:
    text = request.query_params.get(name, "").lower()
    if text not in _YES + _NO:
        raise Problem("invalid", f"{name} is true or false, not {text!r}", 400, field=name)
    return text in _YES
