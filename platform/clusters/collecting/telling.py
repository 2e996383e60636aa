"""Telling open browsers what a round found: only what somebody watches, each channel with its own numbers.

    {"run": who collects, "seq": 7, "sampled_at": …, "rows": {name: fields or null}}

`seq` rises by one per message of a channel and run; whoever misses one, or sees another run, reads the rows
again (console/live). After every full round each watched channel gets a message, even an empty one, so that a
gap is found within ten seconds. A name that was not watched a moment ago is told in full.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

import orjson

from clusters.collecting.answers import Watched
from clusters.collecting.cluster_state import ClusterState
from clusters.collecting.findings import BrokerRow, Findings, GroupRow, TopicRow
from clusters.collecting.known_broker import SAID
from clusters.collecting.totals import cluster_totals, top_lag
from clusters.selectors.live import plain
from console.core import watching
from console.core.events import publish_now

TOP_LAG = "top-lag"
"""Watched as an object of the kind `cluster`: its groups are then watched, too."""
TOP_COUNT = 20
_ROWS_PER_MESSAGE = 100
_JSON = frozenset(("ha", "rates", "log", *SAID))
_NOT_TOLD = frozenset(("members", "brokers", "producers"))
"""Long, and read by REST when a page wants them."""


class Telling:
    def __init__(self, cluster: str, run: str) -> None:
        self.cluster = cluster
        self._run = run
        self._seq: dict[str, int] = {}
        self._watched = Watched()
        self._top: list[GroupRow] = []

    def top_names(self, objects: Iterable[tuple[str, str]]) -> frozenset[str]:
        """The groups of the list of largest lags, while somebody looks at it."""
        is_watched = (watching.CLUSTER, TOP_LAG) in objects
        return frozenset(row.name for row in self._top) if is_watched else frozenset()

    async def tell(
        self, state: ClusterState, found: Findings, watched: Watched, now: datetime, *, is_full: bool
    ) -> None:
        before, self._watched = self._watched, watched
        if watched.groups:
            rows = group_news(state, found, watched.groups, before.groups)
            await self._send(f"groups/{self.cluster}", rows, now, always=is_full)
        if watched.topics:
            rows = topic_news(state, found, watched.topics, before.topics)
            await self._send(f"topics/{self.cluster}", rows, now, always=is_full)
        self._top = top_lag(state, TOP_COUNT)
        if watched.is_cluster:
            await self._tell_cluster(state, found, now, is_full)

    async def _tell_cluster(self, state: ClusterState, found: Findings, now: datetime, is_full: bool) -> None:
        rows: dict[str, Any] = {broker_label(row): told(row) for row in found.brokers}
        rows |= {f"{name}-{member}": None for name, member in found.gone_brokers}
        rows[""] = plain(cluster_totals(state))
        await self._send(f"cluster/{self.cluster}", rows, now, always=is_full)
        top: dict[str, Any] = {row.name: told(row) for row in self._top}
        await self._send(f"toplag/{self.cluster}", top, now, always=is_full, whole=True)
        if is_full and (found.topics or found.subscriptions or found.gone_topics):
            await self._send(f"routing/{self.cluster}", {}, now, always=True)

    async def _send(
        self, channel: str, rows: dict[str, Any], now: datetime, *, always: bool, whole: bool = False
    ) -> None:
        names = list(rows)
        if not names and not always:
            return
        for start in range(0, max(1, len(names)), _ROWS_PER_MESSAGE):
            part = {name: rows[name] for name in names[start : start + _ROWS_PER_MESSAGE]}
            self._seq[channel] = seq = self._seq.get(channel, 0) + 1
            about = {"run": self._run, "seq": seq, "sampled_at": now.isoformat(), "is_whole": whole}
            await publish_now(channel, {**about, "rows": part})


def group_news(
    state: ClusterState, found: Findings, names: frozenset[str], before: frozenset[str]
) -> dict[str, Any]:
    changed = {row.name for row in found.groups} | (names - before)
    news: dict[str, Any] = {
        name: told(state.groups[name]) for name in changed & names if name in state.groups
    }
    return news | {name: None for name in found.gone_groups if name in names}


def topic_news(
    state: ClusterState, found: Findings, names: frozenset[str], before: frozenset[str]
) -> dict[str, Any]:
    changed = {row.name for row in found.topics} | (names - before)
    news: dict[str, Any] = {
        name: told(state.topics[name]) for name in changed & names if name in state.topics
    }
    return news | {name: None for name in found.gone_topics if name in names}


def told(row: BrokerRow | TopicRow | GroupRow) -> dict[str, Any]:
    """As console/live reads rows, so that the two compare."""
    return plain({name: _told(name, value) for name, value in row._asdict().items() if name not in _NOT_TOLD})


def _told(name: str, value: Any) -> Any:
    return orjson.loads(value) if name in _JSON and value is not None else value


def broker_label(row: BrokerRow) -> str:
    return f"{row.broker_name}-{row.member}"
