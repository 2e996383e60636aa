"""docs/compatibility.md and the code agree, in both directions: every code is sent to real servers."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from engine.broker.admin.refused_codes import REFUSALS
from engine.client.instance.server_requests import ServerRequests
from engine.errors import EngineError
from engine.namesrv.namesrv import Namesrv
from engine.namesrv.options import NamesrvOptions
from engine.protocol.codes import RequestCode, ResponseCode
from engine.protocol.commands import Command
from tests.engine.broker.peers import Peer, RunningBroker

PAGE = Path(__file__).parents[3] / "docs" / "compatibility.md"
ROW = re.compile(r"\| (\d+) \| (\w+) \| ([^|]+) \| (handled|refused) \| (?:([^|]*) )?\|")
NOT_SUPPORTED = ResponseCode.REQUEST_CODE_NOT_SUPPORTED


@dataclass(frozen=True, slots=True)
class Row:
    code: int
    name: str
    served_by: frozenset[str]
    is_handled: bool
    remarks: str


def rows() -> list[Row]:
    table = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if re.match(r"\| \d", line)]
    found = [ROW.fullmatch(line) for line in table]
    assert all(found), [line for line, match in zip(table, found, strict=True) if match is None]
    return [
        Row(
            int(match[1]),
            match[2],
            frozenset(match[3].split(", ")) - {"–"},
            match[4] == "handled",
            match[5] or "",
        )
        for match in found
        if match is not None
    ]


@pytest.fixture
async def name_server(tmp_path: Path) -> AsyncIterator[Peer]:
    options = NamesrvOptions(
        listen_port=0, kv_config_path=str(tmp_path / "kv.json"), metrics_prom_exporter_port=-1
    )
    server = Namesrv(options)
    await server.start()
    peer = Peer(f"{server.address[0]}:{server.address[1]}")
    yield peer
    await peer.close()
    await server.stop()


async def served(peer: Peer) -> set[int]:
    """The codes that a server does not answer with "not supported", asked without any field."""
    return {int(code) for code in RequestCode if (await peer.ask(code)).code != NOT_SUPPORTED}


async def served_by_client() -> set[int]:
    requests = ServerRequests({})
    known: set[int] = set()
    for code in RequestCode:
        try:
            reply = await requests._answer(Command(code))
        except EngineError:
            known.add(int(code))
        else:
            if reply.code != NOT_SUPPORTED:
                known.add(int(code))
    return known


def shown(who: str) -> set[int]:
    return {row.code for row in rows() if who in row.served_by}


def test_every_code_has_one_row() -> None:
    assert [(row.code, row.name) for row in rows()] == [
        (int(code), code.name) for code in sorted(RequestCode)
    ]


def test_a_code_is_refused_here_if_and_only_if_the_page_says_so() -> None:
    refused = {row.code: row.remarks for row in rows() if not row.is_handled}
    assert refused == {int(code): reason for code, reason in REFUSALS.items()}


def test_what_is_handled_is_handled_by_somebody() -> None:
    assert not [row for row in rows() if row.is_handled != bool(row.served_by)]
    assert {who for row in rows() for who in row.served_by} == {"name server", "broker", "client"}


async def test_the_broker_serves_what_the_page_says(broker: RunningBroker, peer: Peer) -> None:
    assert await served(peer) == shown("broker")


async def test_the_name_server_serves_what_the_page_says(name_server: Peer) -> None:
    assert await served(name_server) == shown("name server")


async def test_the_client_serves_what_the_page_says() -> None:
    assert await served_by_client() == shown("client")


async def test_a_refused_code_is_told_the_reason(broker: RunningBroker, peer: Peer) -> None:
    for code, reason in REFUSALS.items():
        answer = await peer.ask(code)
        assert answer.code == NOT_SUPPORTED
        assert answer.remark == f"request type {int(code)} not supported: {reason}"


@pytest.mark.parametrize("code", [0, 9, 999, 123_456, 30_000, -5])
async def test_an_unknown_code_is_refused_plainly(broker: RunningBroker, peer: Peer, code: int) -> None:
    answer = await peer.ask(code)
    assert answer.code == NOT_SUPPORTED
    assert str(answer.remark).strip() == f"request type {code} not supported"
