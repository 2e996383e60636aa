"""Who may do what, where: grants, and the one function that judges them. Pure but for `grants_of`.

A grant is a role on the clusters and names that its patterns match: `*` is any text, `?` one character, all
else is itself, and case counts. Behind a token a grant has a second pattern of clusters, and both must match:
two patterns are never merged into one, which would have to be proven narrower than both.
Topics and groups are names of their cluster; what concerns a whole cluster (its brokers, its users) takes a
grant on all names, what concerns the platform (hosts, people) a grant on all clusters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache

from django.db.models import Q

from console.core.models.people import ApiToken, Role, User

EVERYTHING = "*"


@dataclass(frozen=True, slots=True)
class Grant:
    role: int
    clusters: str
    names: str
    token_clusters: str = EVERYTHING
    """Of the token that it is used by."""

    def covers_cluster(self, cluster: str) -> bool:
        return _covers(self.clusters, cluster) and _covers(self.token_clusters, cluster)


@dataclass(frozen=True, slots=True)
class Grants:
    items: tuple[Grant, ...]

    def may(self, role: int, cluster: str = EVERYTHING, name: str = EVERYTHING) -> bool:
        """On that name of that cluster. `*` asks for all of them: only a pattern `*` gives that."""
        return any(
            grant.role >= role and grant.covers_cluster(cluster) and _covers(grant.names, name)
            for grant in self.items
        )

    def sees(self, cluster: str) -> bool:
        """Whether any part of the cluster is open to them."""
        return any(grant.covers_cluster(cluster) for grant in self.items)

    def names_filter(self, cluster: str, field: str = "name") -> Q:
        """Rows of that cluster whose name they may see, for queries over many."""
        return _any_of(_matches(grant.names, field) for grant in self.items if grant.covers_cluster(cluster))

    def clusters_filter(self, field: str = "name", *, role: int = Role.VIEWER) -> Q:
        """Clusters of which they may see anything, or have that role on any name."""
        return _any_of(
            _matches(grant.clusters, field) & _matches(grant.token_clusters, field)
            for grant in self.items
            if grant.role >= role
        )

    def rows_filter(self, cluster_field: str, name_field: str) -> Q:
        """Rows of all clusters at once that they may see, by cluster and name."""
        return _any_of(
            _matches(grant.clusters, cluster_field)
            & _matches(grant.token_clusters, cluster_field)
            & _matches(grant.names, name_field)
            for grant in self.items
        )

    def at_most(self, role: int, clusters: str) -> Grants:
        """What is left of them behind a token of that role and pattern."""
        return Grants(
            tuple(replace(grant, role=min(grant.role, role), token_clusters=clusters) for grant in self.items)
        )


def grants_of(user: User, token: ApiToken | None = None) -> Grants:
    own = (Grant(Role.ADMIN, EVERYTHING, EVERYTHING),) if user.is_superuser else _bindings(user)
    grants = Grants(tuple(own))
    return grants if token is None else grants.at_most(token.role, token.cluster_pattern)


def _bindings(user: User) -> Iterable[Grant]:
    for binding in user.bindings.all():
        yield Grant(binding.role, binding.cluster_pattern, binding.name_pattern)


def _covers(pattern: str, name: str) -> bool:
    return pattern == EVERYTHING or (name != EVERYTHING and fits(pattern, name))


def fits(pattern: str, name: str) -> bool:
    return _compiled(pattern).fullmatch(name) is not None


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(_expression(pattern), re.DOTALL)


def _expression(pattern: str) -> str:
    """Runs of `*` are one: several in a row would make some names very slow to refuse."""
    shortened = re.sub(r"\*+", "*", pattern)
    return "".join({"*": ".*", "?": "."}.get(char, re.escape(char)) for char in shortened)


def _any_of(conditions: Iterable[Q]) -> Q:
    found = Q(pk__in=())
    for condition in conditions:
        if not condition:
            return condition
        found |= condition
    return found


def _matches(pattern: str, field: str) -> Q:
    """The common shapes without a regular expression, which no index helps."""
    if pattern == EVERYTHING:
        return Q()
    if not re.search(r"[*?]", pattern):
        return Q(**{field: pattern})
    if re.fullmatch(r"[^*?]+\*", pattern):
        return Q(**{f"{field}__startswith": pattern[:-1]})
    return Q(**{f"{field}__regex": f"^{_expression(pattern)}$"})
