"""What a view asks of whoever calls it: declared per method, checked in one place, walked by a test.

    class TopicView(PlatformView):
        needs = {"GET": Need(Role.VIEWER, Where.NAME), "DELETE": Need(Role.OPERATOR, Where.NAME)}
        name_kwarg = "topic"

A method without a need is refused. Clusters that somebody may not see do not exist for them (404); what they
see and may not do is refused (403).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from django.http import Http404
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from console.core.models.people import Role
from console.core.rights import Grants, grants_of

if TYPE_CHECKING:
    # rest_framework.views imports this module, by the setting that names it.
    from rest_framework.views import APIView


class Where(Enum):
    OPEN = "open to all, signed in or not"
    ANYONE = "anyone who is signed in"
    PLATFORM = "a grant on all clusters and names"
    CLUSTER = "a grant on all names of the cluster in the address"
    INSIDE = "a grant on any name of the cluster in the address; the view filters or checks further"
    NAME = "a grant on the name in the address"


@dataclass(frozen=True, slots=True)
class Need:
    role: int
    where: Where


SIGNED_IN = Need(Role.VIEWER, Where.ANYONE)
OPEN = Need(0, Where.OPEN)


def grants_for(request: Request) -> Grants:
    """Read once per request."""
    kept: Grants | None = getattr(request._request, "kept_grants", None)
    if kept is None:
        kept = grants_of(request.user, request.auth) if request.user.is_authenticated else Grants(())
        request._request.kept_grants = kept
    return kept


class HasRole(BasePermission):
    def has_permission(self, request: Request, view: APIView) -> bool:
        if request.method == "OPTIONS":
            return bool(request.user.is_authenticated)
        need: Need | None = getattr(view, "needs", {}).get(
            "GET" if request.method == "HEAD" else request.method
        )
        if need is None:
            return False
        if need.where is Where.OPEN:
            return True
        if not request.user.is_authenticated:
            return False
        return need.where is Where.ANYONE or self._is_granted(need, grants_for(request), view)

    def _is_granted(self, need: Need, grants: Grants, view: APIView) -> bool:
        if need.where is Where.PLATFORM:
            return grants.may(need.role)
        cluster = view.kwargs["cluster"]
        if not grants.sees(cluster):
            raise Http404
        if need.where is Where.CLUSTER:
            return grants.may(need.role, cluster)
        if need.where is Where.NAME:
            return grants.may(need.role, cluster, view.kwargs[getattr(view, "name_kwarg", "name")])
        return any(grant.role >= need.role and Grants((grant,)).sees(cluster) for grant in grants.items)
