"""Alerts, rules, silences and deliveries that somebody may see.

Topics and groups are names; brokers, and what a rule cannot see, belong to the cluster as a whole. A rule is
seen (and may be changed) by whoever has the role on everything that it may name.
"""

from __future__ import annotations

from django.db.models import Q, QuerySet

from clusters.models import Alert
from console.core.rights import EVERYTHING, Grants, fits


def visible_alerts(grants: Grants) -> QuerySet[Alert]:
    whole = Grants(tuple(grant for grant in grants.items if grant.names == EVERYTHING))
    named = Q(subject__in=("group", "topic")) & grants.rows_filter("cluster__name", "name")
    # With its subjects, also where it says nothing else: an empty condition is lost in an "or".
    others = Q(subject__in=("broker", "cluster")) & whole.clusters_filter("cluster__name")
    return Alert.objects.filter(named | others).select_related("rule", "cluster")


def covers_patterns(grants: Grants, role: int, clusters: str, names: str) -> bool:
    """Whether a grant includes everything that the two patterns match."""
    return any(
        grant.role >= role
        and _includes(grant.clusters, clusters)
        and _includes(grant.token_clusters, clusters)
        and _includes(grant.names, names)
        for grant in grants.items
    )


def _includes(wide: str, narrow: str) -> bool:
    """`?` stands for one character, a `*` of the narrow one for many: then only equal ones are included."""
    if wide in (EVERYTHING, narrow):
        return True
    return "?" not in wide and narrow != EVERYTHING and fits(wide, narrow)
