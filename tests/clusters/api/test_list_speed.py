"""Lists of a large cluster, 10,000 topics and 5,000 groups: a page takes less than a tenth of a second.

What is measured is the time on the processor, p95 over many requests: it is what the console can answer for,
and a machine that is busy with other things does not change it. The time on the clock is printed beside it.
"""

from __future__ import annotations

import statistics
import time

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from clusters.models import Cluster
from console.garbage import set_aside_what_is_loaded
from tests.clusters.large_cluster import seed

pytestmark = [pytest.mark.django_db, pytest.mark.alone, pytest.mark.nightly, pytest.mark.timeout(600)]

P95_S = 0.1
ROUNDS = 20
HERE = "/api/v1/clusters/attached/"
LISTS = (
    "topics/",
    "topics/?ordering=-lag",
    "topics/?ordering=-rate",
    "topics/?search=7&ordering=-messages",
    "topics/?kind=normal&offset=9400",
    "topics/?limit=500",
    "topics/?limit=500&ordering=-lag",
    "groups/",
    "groups/?ordering=-lag",
    "groups/?ordering=-seconds&search=9",
    "groups/?offset=4500&ordering=-rate",
    "groups/?limit=500",
    "groups/?limit=500&ordering=-lag",
    "routing/",
    "routing/?limit=500",
    "dlq/",
    "topics/orders-00000/groups/?limit=500",
    "brokers/",
)


@pytest.fixture
def large(attached: Cluster) -> Cluster:
    seed(attached, timezone.now())
    return attached


def p95(times: list[float]) -> float:
    return statistics.quantiles(times, n=20)[-1]


def measure(api: APIClient, path: str) -> tuple[float, float]:
    """p95 of processor and clock."""
    on_processor, on_clock = [], []
    assert api.get(HERE + path).status_code == 200
    for _ in range(ROUNDS):
        began, began_s = time.thread_time(), time.perf_counter()
        answer = api.get(HERE + path)
        on_processor.append(time.thread_time() - began)
        on_clock.append(time.perf_counter() - began_s)
        assert answer.status_code == 200
    return p95(on_processor), p95(on_clock)


def test_a_page_of_a_large_cluster_takes_less_than_a_tenth_of_a_second(
    api: APIClient, large: Cluster
) -> None:
    # As the server does when it begins (console/asgi.py).
    set_aside_what_is_loaded()
    slow = {}
    for path in LISTS:
        cpu_s, wall_s = measure(api, path)
        print(f"{path:42} p95 {cpu_s * 1000:6.1f} ms processor, {wall_s * 1000:6.1f} ms clock", flush=True)
        if cpu_s >= P95_S:
            slow[path] = cpu_s
    assert not slow, slow
