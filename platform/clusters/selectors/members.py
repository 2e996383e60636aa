"""Members of a group put together from what brokers and the members themselves said. Pure.

Whether they subscribe alike is judged from what each member says of itself: a broker keeps only the last
heartbeat's subscriptions, so it cannot tell.
"""

from __future__ import annotations

from typing import Any

RunningInfos = dict[str, dict[str, Any] | str]


def merged(connections: list[dict[str, Any]], infos: RunningInfos) -> list[dict[str, Any]]:
    """`connections` are brokers' answers, each with the broker's name; one row per client id."""
    rows: dict[str, dict[str, Any]] = {}
    for answer in connections:
        for client_id, address, language, version in answer["members"]:
            row = rows.setdefault(client_id, _member(client_id, address, language, version, answer))
            row["brokers"].append(answer["broker"])
    for client_id, row in rows.items():
        _told(row, infos.get(client_id))
    return sorted(rows.values(), key=lambda row: row["client_id"])


def _member(
    client_id: str, address: str, language: str, version: int, answer: dict[str, Any]
) -> dict[str, Any]:
    return {
        "client_id": client_id,
        "address": address,
        "language": language,
        "version": version,
        "protocol": "remoting",
        "consume_type": answer["type"],
        "brokers": [],
        "queues": None,
        "subscriptions": None,
        "rates": None,
        "properties": None,
        "detail": "",
    }


def _told(row: dict[str, Any], info: dict[str, Any] | str | None) -> None:
    if info is None or isinstance(info, str):
        row["detail"] = info or "not asked"
        return
    row["queues"] = info["queues"]
    row["subscriptions"] = [
        {"topic": topic, "expression": expression, "type": kind}
        for topic, expression, kind in info["subscriptions"]
    ]
    row["rates"] = info["rates"]
    row["properties"] = {key: text for key, text in info["properties"].items() if "SECRET" not in key.upper()}


def differing_subscriptions(members: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Topics that members do not subscribe to alike: each with who wants what."""
    told = {row["client_id"]: row["subscriptions"] for row in members if row["subscriptions"] is not None}
    topics = {
        one["topic"] for listed in told.values() for one in listed if not one["topic"].startswith("%RETRY%")
    }
    differing = []
    for topic in sorted(topics):
        wanted = {
            client: next((one["expression"] for one in listed if one["topic"] == topic), None)
            for client, listed in told.items()
        }
        if len(set(wanted.values())) > 1:
            differing.append({"topic": topic, "members": wanted})
    return differing
