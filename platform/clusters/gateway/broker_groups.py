"""Broker groups over the wire: how their members stand, promotion, write permission, what is still unread."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from clusters.gateway.addressing import ClusterAddress
from clusters.gateway.connections import ask, each
from engine.client.admin import Admin
from engine.errors import EngineError
from engine.protocol.bodies.brokers import GroupStatus

PROMOTE_S = 40.0


@dataclass(frozen=True, slots=True)
class Health:
    trouble: str
    """Empty: the group is whole."""
    master: int | None
    in_sync: tuple[int, ...] = ()
    """Members of the master's in-sync set, if the group is whole."""


@dataclass(frozen=True, slots=True)
class Promoted:
    member: int
    address: str
    epoch: int
    may_be_lost: str


def group_health(
    address: ClusterAddress, members: Mapping[int, str], *, wants_in_sync: bool = True
) -> Health:
    """Every member answers, one of them is master, and all are in its in-sync set."""
    answers = ask(address, lambda admin: each(members.values(), admin.broker_groups.status))
    return judge({member: answers[at] for member, at in members.items()}, wants_in_sync=wants_in_sync)


def judge(answers: Mapping[int, GroupStatus | EngineError], *, wants_in_sync: bool = True) -> Health:
    """Pure."""
    for member, answer in sorted(answers.items()):
        if isinstance(answer, EngineError):
            return Health(f"member {member} does not answer: {answer.text}", None)
    statuses = {member: answer for member, answer in answers.items() if isinstance(answer, GroupStatus)}
    masters = [status for status in statuses.values() if status.role == "master"]
    if len(masters) != 1:
        return Health("no member is master" if not masters else "two members say that they are master", None)
    [master] = masters
    for member, status in sorted(statuses.items()):
        if status.trouble:
            return Health(f"member {member}: {status.trouble}", master.member_id)
    missing = sorted(set(statuses) - {*master.in_sync.ids})
    if missing and wants_in_sync:
        return Health(f"member {missing[0]} is not in sync yet", master.member_id)
    return Health("", master.member_id, tuple(sorted(master.in_sync.ids)))


def registered_brokers(address: ClusterAddress, name_server: str) -> set[str]:
    """The addresses of brokers that this one name server knows."""
    alone = replace(address, name_servers=(name_server,))
    info = ask(alone, lambda admin: admin.cluster.info())
    return {at for group in info.broker_addr_table.values() for at in group.broker_addrs.values()}


def promote(address: ClusterAddress, broker: str, *, wanted: int | None, unclean: bool) -> Promoted:
    promotion = ask(
        address,
        lambda admin: admin.broker_groups.promote(broker, wanted=wanted, unclean=unclean),
        deadline_s=PROMOTE_S,
    )
    return Promoted(
        promotion.master_id, promotion.master_address, promotion.epoch, promotion.may_be_lost or ""
    )


def update_config(address: ClusterAddress, broker: str, changes: Mapping[str, str]) -> dict[str, str]:
    """What the broker says after it."""

    async def change(admin: Admin) -> dict[str, str]:
        await admin.brokers.update_config(broker, changes)
        return await admin.brokers.config(broker)

    return ask(address, change)


def configs(address: ClusterAddress, brokers: list[str]) -> dict[str, dict[str, str] | EngineError]:
    return ask(address, lambda admin: each(brokers, admin.brokers.config))


@dataclass(frozen=True, slots=True)
class Unread:
    messages: int
    groups: tuple[str, ...]


def unread(address: ClusterAddress, broker: str) -> Unread:
    """Messages of this broker that some group has not consumed yet."""
    stats = ask(address, lambda admin: admin.groups.consume_stats_of_broker(broker), deadline_s=15)
    behind: dict[str, int] = {}
    for item in stats.consume_stats_list:
        for group, of_topics in item.items():
            for one in of_topics:
                behind[group] = behind.get(group, 0) + max(0, one.total_lag)
    lagging = tuple(sorted(group for group, lag in behind.items() if lag > 0))
    return Unread(sum(behind.values()), lagging)
