"""A group's row from its subscriptions and from who is connected; who came and who went. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

import orjson

from clusters.collecting.findings import GroupRow, Rebalance, SubscriptionRow
from clusters.collecting.known_broker import dumps
from clusters.selectors.live import known_lag

Members = dict[str, dict[str, Any]]


def members_of(parts: Mapping[str, Any]) -> Members | None:
    """By client id, of all brokers together; None when no broker was asked for them."""
    found: Members = {}
    is_known = False
    for part in parts.values():
        if part.get("members") is None:
            continue
        is_known = True
        for client_id, address, language, version in part["members"]:
            found[client_id] = {
                "client_id": client_id,
                "address": address,
                "language": language,
                "version": version,
            }
    return found if is_known else None


def put_together(
    group: str, rows: Iterable[SubscriptionRow], members: Members | None, parts: Mapping[str, Any]
) -> GroupRow:
    rows = list(rows)
    counted = [row for row in rows if row.lag is not None]
    never = any(row.never_clears for row in counted)
    etas = [row.eta_s for row in counted]
    behind = [row.oldest_unread_at for row in counted if row.lag]
    online: Mapping[str, Any] = next((part for part in parts.values() if part.get("members")), {})
    is_partial = any(row.lag is None or row.lag_is_partial for row in rows)
    return GroupRow(
        name=group,
        topic_count=len(rows),
        lag=known_lag(sum(row.lag or 0 for row in counted), is_partial) if rows else None,
        lag_is_partial=is_partial,
        oldest_unread_at=_known(min, behind),
        consume_rate=_known(_total, [row.consume_rate for row in counted]),
        # Of what is not counted nobody knows when it is read.
        eta_s=None if never or is_partial else _known(max, etas),
        never_clears=never,
        member_count=None if members is None else len(members),
        members=None if members is None else dumps([members[client_id] for client_id in sorted(members)]),
        model=online.get("model") or "",
        consume_type=online.get("type") or "",
        is_sampled=members is not None,
    )


def rebalance(group: str, before: GroupRow | None, after: GroupRow, now: datetime) -> Rebalance | None:
    """None when nobody came or went, or when it is not known who was there before."""
    if before is None or before.members == after.members or before.members is None or after.members is None:
        return None
    was, now_there = _client_ids(before.members), _client_ids(after.members)
    if was == now_there:
        return None
    return Rebalance(group, now, sorted(now_there - was), sorted(was - now_there), len(now_there))


def _client_ids(members: str) -> set[str]:
    return {member["client_id"] for member in orjson.loads(members)}


def _total(values: list[float]) -> float:
    return round(sum(values), 2)


def _known(together: Any, values: list[Any]) -> Any:
    """None when there are none, or when one of them is not known."""
    return together(values) if values and None not in values else None
