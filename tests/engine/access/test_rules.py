"""The table of rules is complete: a code that is handled has a row, and every row is handled."""

from __future__ import annotations

from pathlib import Path

from engine.access.rules import BROKER_RULES, NAMESRV_RULES, USER_CODES
from engine.broker.admin.refused_codes import REFUSALS
from engine.namesrv.handlers import NamesrvHandlers
from engine.namesrv.kv import KVConfig
from engine.namesrv.options import NamesrvOptions
from engine.namesrv.routes import RouteTable
from engine.protocol.codes import RequestCode
from tests.engine.broker.peers import RunningBroker


async def test_every_code_that_a_broker_handles_has_a_row(tmp_path: Path) -> None:
    broker = await RunningBroker.start(tmp_path / "store", {})
    handled = set(broker.inner.routes)
    await broker.stop()
    missing = handled - set(BROKER_RULES) - set(REFUSALS)
    assert {RequestCode(code).name for code in missing} == set()
    assert {RequestCode(code).name for code in set(BROKER_RULES) - handled} == set()


def test_every_code_that_a_name_server_handles_has_a_row() -> None:
    handlers = NamesrvHandlers(
        RouteTable(1000), KVConfig(), NamesrvOptions(), lambda: 0, on_options=lambda options: None
    )
    assert set(handlers.routes()) == set(NAMESRV_RULES)


def test_a_row_has_needs_or_says_why_not() -> None:
    for rules in (BROKER_RULES, NAMESRV_RULES):
        for code, rule in rules.items():
            assert rule.needs or rule.cluster or rule.is_peer or rule.why, code


def test_what_changes_users_or_brokers_is_an_admins() -> None:
    for rules in (BROKER_RULES, NAMESRV_RULES):
        for code, rule in rules.items():
            if "UPDATE" in {action.name for action in rule.cluster} or rule.is_peer:
                assert rule.is_admin, code
    assert len(USER_CODES) == 15
