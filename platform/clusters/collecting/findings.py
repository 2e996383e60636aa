"""What a round of collecting found: rows as values, by the names of their columns, and what happened.

The fields of a row are columns of the model of the same name (clusters/models/live.py), its keys first; JSON
columns hold encoded text already, so that equal rows compare fast and are written as they are. Tuples: a
round may make twenty thousand of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from clusters.collecting.series_book import Key


class BrokerRow(NamedTuple):
    broker_name: str
    member: int
    address: str
    role: str
    version: str
    epoch: int | None
    ha: str
    rates: str
    disk_ratio: float | None
    log: str
    producers: str | None
    booted_at: datetime | None
    sampled_at: datetime | None
    is_reachable: bool
    error: str
    retention: str | None = None
    damage: str | None = None
    certificate: str | None = None


class TopicRow(NamedTuple):
    name: str
    kind: str
    read_queues: int
    write_queues: int
    perm: int
    is_ordered: bool
    brokers: str
    messages: int | None
    put_rate: float | None
    last_write_at: datetime | None
    group_count: int
    lag: int | None


class SubscriptionRow(NamedTuple):
    group: str
    topic: str
    lag: int | None
    lag_is_partial: bool
    oldest_unread_at: datetime | None
    consume_rate: float | None
    eta_s: float | None
    never_clears: bool
    expression: str
    queues: str


class GroupRow(NamedTuple):
    name: str
    topic_count: int
    lag: int | None
    lag_is_partial: bool
    oldest_unread_at: datetime | None
    consume_rate: float | None
    eta_s: float | None
    never_clears: bool
    member_count: int | None
    members: str | None
    model: str
    consume_type: str
    is_sampled: bool


@dataclass(frozen=True, slots=True)
class Rebalance:
    group: str
    at: datetime
    joined: list[str]
    left: list[str]
    member_count: int


@dataclass(slots=True)
class Findings:
    """Only what is different from what was found before."""

    brokers: list[BrokerRow] = field(default_factory=list)
    topics: list[TopicRow] = field(default_factory=list)
    groups: list[GroupRow] = field(default_factory=list)
    subscriptions: list[SubscriptionRow] = field(default_factory=list)
    gone_brokers: list[tuple[str, int]] = field(default_factory=list)
    gone_topics: list[str] = field(default_factory=list)
    gone_groups: list[str] = field(default_factory=list)
    gone_subscriptions: list[tuple[str, str]] = field(default_factory=list)
    rebalances: list[Rebalance] = field(default_factory=list)
    points: list[tuple[Key, float | None]] = field(default_factory=list)
