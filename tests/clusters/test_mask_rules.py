"""Rules that mask bodies: who makes them, and what is written down about it."""

from __future__ import annotations

from clusters.models import Cluster
from console.core.models import AuditEntry
from tests.platform_fixtures import People


def test_rules_are_made_by_administrators_and_audited(people: People, attached: Cluster) -> None:
    here = "/api/v1/clusters/attached/masking/"
    rule = {"topic_pattern": "cards*", "json_paths": ["card.number"], "up_to_role": "viewer"}
    assert people.operator.post(here, rule, format="json").status_code == 403
    made = people.admin.post(here, rule, format="json")
    assert (made.status_code, made.json()["cluster_pattern"]) == (201, "attached")
    assert [one["id"] for one in people.viewer.get(here).json()] == [made.json()["id"]]
    bad = people.admin.post(here, rule | {"json_paths": ["a[0]"]}, format="json")
    assert (bad.status_code, bad.json()["errors"][0]["field"]) == (400, "json_paths")
    wide = people.admin.post("/api/v1/masking/", rule | {"cluster_pattern": "*"}, format="json")
    assert wide.status_code == 201
    assert people.admin.delete(f"{here}{wide.json()['id']}/").status_code == 404
    assert people.admin.delete(f"/api/v1/masking/{wide.json()['id']}/").status_code == 204
    assert people.admin.delete(f"{here}{made.json()['id']}/").status_code == 204
    actions = AuditEntry.objects.order_by("id").values_list("action", flat=True)
    assert list(actions) == ["mask.create", "mask.create", "mask.delete", "mask.delete"]
