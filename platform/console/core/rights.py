"""Who may do what, where: grants, and the one function that judges them. Pure but for `grants_of`.

A grant is a role on the clusters and names that its patterns match (`*` and `?`, as in a shell; case counts).
Topics and groups are names of their cluster; what concerns a whole cluster (its brokers, its users) takes a
grant on all names, what concerns the platform (hosts, people) a grant on all clusters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

from django.db.models import Q

from console.core.models.people import ApiToken, Role, User

EVERYTHING = "*"


@dataclass(frozen=True, slots=True)
class Grant:
    role: int
    clusters: str
    names: str


@dataclass(frozen=True, slots=True)
class Grants:
    items: tuple[Grant, ...]

    def may(self, role: int, cluster: str = EVERYTHING, name: str = EVERYTHING) -> bool:
        """On that name of that cluster. `*` asks for all of them: only a pattern `*` gives that."""
        return any(
            grant.role >= role and _covers(grant.clusters, cluster) and _covers(grant.names, name)
            for grant in self.items
        )

    def sees(self, cluster: str) -> bool:
        """Whether any part of the cluster is open to them."""
        return any(_covers(grant.clusters, cluster) for grant in self.items)

    def names_filter(self, cluster: str, field: str = "name") -> Q:
        """Rows of that cluster whose name they may see, for queries over many."""
        patterns = {grant.names for grant in self.items if _covers(grant.clusters, cluster)}
        return _any_match(patterns, field)

    def clusters_filter(self, field: str = "name") -> Q:
        return _any_match({grant.clusters for grant in self.items}, field)

    def at_most(self, role: int, clusters: str) -> Grants:
        """What is left of them behind a token of that role and pattern."""
        kept = (
            Grant(min(grant.role, role), _narrower(grant.clusters, clusters), grant.names)
            for grant in self.items
            if fnmatchcase(grant.clusters, clusters) or fnmatchcase(clusters, grant.clusters)
        )
        return Grants(tuple(kept))


def grants_of(user: User, token: ApiToken | None = None) -> Grants:
    own = (Grant(Role.ADMIN, EVERYTHING, EVERYTHING),) if user.is_superuser else _bindings(user)
    grants = Grants(tuple(own))
    return grants if token is None else grants.at_most(token.role, token.cluster_pattern)


def _bindings(user: User) -> Iterable[Grant]:
    for binding in user.bindings.all():
        yield Grant(binding.role, binding.cluster_pattern, binding.name_pattern)


def _covers(pattern: str, name: str) -> bool:
    return pattern == EVERYTHING or (name != EVERYTHING and fnmatchcase(name, pattern))


def _narrower(one: str, other: str) -> str:
    return one if fnmatchcase(one, other) else other


def _any_match(patterns: set[str], field: str) -> Q:
    if EVERYTHING in patterns:
        return Q()
    found = Q(pk__in=())
    for pattern in patterns:
        found |= _matches(pattern, field)
    return found


def _matches(pattern: str, field: str) -> Q:
    """The common shapes without a regular expression, which no index helps."""
    if not re.search(r"[*?\[]", pattern):
        return Q(**{field: pattern})
    if re.fullmatch(r"[^*?\[]+\*", pattern):
        return Q(**{f"{field}__startswith": pattern[:-1]})
    body = "".join({"*": ".*", "?": "."}.get(char, re.escape(char)) for char in pattern)
    return Q(**{f"{field}__regex": f"^{body}$"})
