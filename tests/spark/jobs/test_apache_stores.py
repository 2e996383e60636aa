"""Every report on stores that Apache RocketMQ wrote: the same trade as on ours gives the same numbers."""

from __future__ import annotations

import pytest

from tests.interop.clusters import APACHE_TARGETS
from tests.spark.jobs import test_audit as audits
from tests.spark.jobs import test_reports as reports
from tests.spark.jobs.conftest import Run
from tests.spark.shop import Shop, write_store

pytestmark = [pytest.mark.interop, pytest.mark.nightly, pytest.mark.needs_maven, pytest.mark.timeout(1200)]


@pytest.fixture(scope="module", params=APACHE_TARGETS)
def shop(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Shop:
    """In the place of ours."""
    return write_store(request.param, tmp_path_factory.mktemp(request.param))


def test_a_trace_tells_what_senders_and_consumers_did(run: Run, shop: Shop) -> None:
    reports.test_a_trace_tells_what_senders_and_consumers_did(run, shop)


def test_retention_says_who_has_not_read_what(run: Run, shop: Shop) -> None:
    reports.test_retention_says_who_has_not_read_what(run, shop)


def test_usage_knows_producers_keys_and_teams(run: Run, shop: Shop) -> None:
    reports.test_usage_knows_producers_keys_and_teams(run, shop)


def test_a_search_finds_what_was_sent(run: Run, shop: Shop) -> None:
    reports.test_a_search_finds_what_was_sent(
        run, shop, ("--key=all",), [f"order-{number}" for number in range(6)]
    )


def test_a_search_looks_into_compressed_bodies(run: Run, shop: Shop) -> None:
    reports.test_a_search_finds_what_was_sent(run, shop, ("--body=teapots",), [reports.BIG.decode()[:16]])


def test_a_whole_store_has_no_findings(run: Run, shop: Shop) -> None:
    audits.test_a_whole_store_has_no_findings(run, shop)
