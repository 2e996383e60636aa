"""The OpenAPI schema: complete without a warning, true to the API, and no request that it allows fails us.

schemathesis makes requests from the schema, valid and broken ones, as an administrator. Whatever it makes, no
answer may be a failure of the console's own: 500. (502, 503 and 504 say that a broker or Redis failed.)
"""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any
from urllib.parse import urlencode

import pytest
import schemathesis
from drf_spectacular.drainage import GENERATOR_STATS
from drf_spectacular.generators import SchemaGenerator
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from rest_framework.test import APIClient
from rest_framework.utils.encoders import JSONEncoder
from schemathesis import GenerationMode

from clusters.models import Cluster
from console.core.models import User
from tests.console.int64_names import is_int64
from tests.console.route_map import routes
from tests.platform_fixtures import People

pytestmark = pytest.mark.django_db
HERE = "http://127.0.0.1"
# They follow something and answer when it has happened, or when their time is over.
WAITING = ("messages_tail",)
OURS = (500, 501)


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    GENERATOR_STATS.reset()
    made = SchemaGenerator().get_schema(request=None, public=True)
    # As a client reads it: texts that are translated late are texts then.
    return dict(json.loads(json.dumps(made, cls=JSONEncoder)))


def test_the_schema_is_made_without_a_warning(schema: dict[str, Any]) -> None:
    assert not GENERATOR_STATS, dict(GENERATOR_STATS._warn_cache)
    assert schema["openapi"].startswith("3.1")


def test_every_operation_has_a_name_a_tag_and_an_answer(schema: dict[str, Any]) -> None:
    names: Counter[str] = Counter()
    for path, methods in schema["paths"].items():
        for method, operation in methods.items():
            names[operation["operationId"]] += 1
            assert operation.get("tags"), f"{method} {path} has no tag"
            assert set(operation["responses"]) - {"default"}, f"{method} {path} says no answer"
    assert not [name for name, count in names.items() if count > 1]


def test_ids_offsets_and_counts_of_messages_are_strings(schema: dict[str, Any]) -> None:
    """Of answers; what is asked for may be a number, too."""
    for name, shape in schema["components"]["schemas"].items():
        for field, about in shape.get("properties", {}).items():
            kinds = about.get("type", [])
            if not name.endswith("Request") and is_int64(field):
                assert "integer" not in kinds and "number" not in kinds, f"{name}.{field}"


def test_every_route_is_in_the_schema(schema: dict[str, Any]) -> None:
    known = {(path, method.upper()) for path, methods in schema["paths"].items() for method in methods}
    for route in routes():
        if route.view is not None:
            path = "/" + re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", route.path)
            assert (path, route.method) in known, route.key


def test_the_schema_is_served_to_those_who_are_signed_in(people: People) -> None:
    assert people.viewer.get("/api/v1/schema/").status_code == 200
    assert people.anonymous.get("/api/v1/schema/").status_code == 401


# -- requests made from the schema --------------------------------------------------------------------------


def requests_of(operation: Any) -> st.SearchStrategy[schemathesis.Case]:
    """Of the cluster that is there, as the schema has them and broken; and of clusters that are not."""
    known = {"cluster": "attached"} if "{cluster}" in operation.path else None
    return st.one_of(
        operation.as_strategy(path_parameters=known),
        operation.as_strategy(GenerationMode.NEGATIVE, path_parameters=known),
        operation.as_strategy(),
    )


def answers(schema: dict[str, Any], client: APIClient, max_examples: int) -> tuple[list[str], Counter[int]]:
    """Requests that made the console fail, and how often which status was answered."""
    found: list[str] = []
    statuses: Counter[int] = Counter()
    limits = settings(
        max_examples=max_examples,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    for result in schemathesis.openapi.from_dict(schema).get_all_operations():
        operation = result.ok()
        if operation.definition.raw["operationId"] not in WAITING:
            limits(given(requests_of(operation))(lambda case: _probe(client, case, found, statuses)))()
    return found, statuses


def _probe(client: APIClient, case: schemathesis.Case, found: list[str], statuses: Counter[int]) -> None:
    asked = case.as_transport_kwargs(base_url=HERE)
    query = urlencode(asked.get("params") or {}, doseq=True, errors="replace")
    body = json.dumps(asked["json"]) if "json" in asked else asked.get("data") or ""
    path = asked["url"].removeprefix(HERE)
    response = client.generic(
        asked["method"], path, body, content_type="application/json", QUERY_STRING=query
    )
    statuses[response.status_code] += 1
    if response.status_code in OURS:
        found.append(f"{response.status_code} {asked['method']} {path}?{query} {str(body)[:300]}")


@pytest.fixture
def administrator(people: People) -> APIClient:
    """By token: signing out and in must not change who asks."""
    made = people.root.post(
        "/api/v1/tokens/", {"name": "schema", "role": "admin", "expires_in_days": 1}, format="json"
    )
    client = APIClient(headers={"Authorization": f"Bearer {made.json()['secret']}"})
    client.raise_request_exception = False
    return client


@pytest.mark.timeout(300)
def test_no_request_that_the_schema_suggests_makes_the_console_fail(
    schema: dict[str, Any], administrator: APIClient, attached: Cluster
) -> None:
    found, statuses = answers(schema, administrator, max_examples=3)
    assert not found
    assert statuses[200] > 30 and statuses[400] > 30, "requests are neither all refused nor all let through"
    assert User.objects.filter(username="root", is_active=True).exists()


@pytest.mark.nightly
@pytest.mark.timeout(3600)
def test_no_request_of_many_makes_the_console_fail(
    schema: dict[str, Any], administrator: APIClient, attached: Cluster
) -> None:
    found, _ = answers(schema, administrator, max_examples=60)
    assert not found
