"""The contract finds each kind of fault, on graphs made for it."""

from __future__ import annotations

import pytest
from grimp import ImportGraph

from tests.architecture.feature_levels import FeatureLevels


def faults(importer: str, imported: str) -> list[str]:
    graph = ImportGraph()
    graph.add_import(importer=importer, imported=imported)
    options = {
        "root": "broker",
        "impure": ["asyncio", "net"],
        "pure": ["net.outcomes"],
        "pairs": ["failover|replication"],
    }
    contract = FeatureLevels("levels", {}, options)
    broken: list[str] = contract.check(graph, verbose=False).metadata["broken"]
    return broken


@pytest.mark.parametrize(
    ("importer", "imported"),
    [
        ("broker.topics.topic_table", "asyncio"),
        ("broker.topics.topic_table", "net.server"),
        ("broker.topics.topic_table", "broker.state.state_files_io"),
        ("broker.state.state_files_io", "broker.state.table_writer_task"),
        ("broker.pop.revive_task", "broker.pop.handlers_acks"),
        ("broker.pop.handlers", "broker.process.waits"),
        ("broker.pop.handlers", "broker.sending.handlers"),
        ("broker.pop.revive_task", "broker.delivery.delay_task"),
    ],
)
def test_a_fault_is_found(importer: str, imported: str) -> None:
    assert len(faults(importer, imported)) == 1


@pytest.mark.parametrize(
    ("importer", "imported"),
    [
        ("broker.topics.topic_table", "net.outcomes"),
        ("broker.topics.handlers", "asyncio"),
        ("broker.topics.handlers", "broker.offsets.offset_table"),
        ("broker.pop.revive_task", "broker.delivery.deliverer_io"),
        ("broker.failover.member_task", "broker.replication.slave_task"),
        ("broker.process.broker", "broker.pop.handlers"),
        ("broker.main", "broker.process.broker"),
    ],
)
def test_what_is_allowed_is_no_fault(importer: str, imported: str) -> None:
    assert not faults(importer, imported)
