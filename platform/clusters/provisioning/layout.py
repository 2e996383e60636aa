"""Where members of a new cluster go. Pure.

Two rules: no host has two members of one broker group, and masters are spread. A group's master goes to the
host that has the fewest, its slaves to the next hosts along the list: so every host gets a master before one
gets two, and a group's members are on different hosts. What is impossible is refused with the reason, never
bent, unless the caller says that one host may have several members of a group.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from console.core.problems import Problem

MOST_NAME_SERVERS = 9
MOST_GROUPS = 64
MOST_SLAVES = 8


@dataclass(frozen=True, slots=True)
class Member:
    member: int
    host: str


@dataclass(frozen=True, slots=True)
class GroupLayout:
    name: str
    members: tuple[Member, ...]


@dataclass(frozen=True, slots=True)
class NameServerLayout:
    number: int
    host: str


@dataclass(frozen=True, slots=True)
class Layout:
    name_servers: tuple[NameServerLayout, ...]
    groups: tuple[GroupLayout, ...]


def lay_out(
    hosts: Sequence[str],
    *,
    name_servers: int,
    group_names: Sequence[str],
    slaves: int,
    allow_same_host: bool = False,
    masters_on: Mapping[str, int] | None = None,
    first_name_server: int = 1,
) -> Layout:
    """`masters_on`: masters that hosts have already; they get new ones last."""
    _check_sizes(name_servers, group_names, slaves)
    if not hosts:
        raise Problem("no_hosts", "there is no host that could take it", 409, field="hosts")
    if slaves + 1 > len(hosts) and not allow_same_host:
        raise Problem(
            "too_few_hosts",
            f"a group of {slaves + 1} members needs {slaves + 1} hosts, there are {len(hosts)}: "
            "add hosts, ask for fewer slaves, or say allow_same_host",
            409,
            field="slaves",
        )
    taken = dict.fromkeys(hosts, 0) | {h: n for h, n in (masters_on or {}).items() if h in hosts}
    return Layout(
        _name_servers(hosts, name_servers, first_name_server),
        tuple(_group(name, hosts, slaves, taken) for name in group_names),
    )


def _name_servers(hosts: Sequence[str], count: int, first: int) -> tuple[NameServerLayout, ...]:
    return tuple(
        NameServerLayout(number, hosts[(number - 1) % len(hosts)]) for number in range(first, first + count)
    )


def _group(name: str, hosts: Sequence[str], slaves: int, masters: dict[str, int]) -> GroupLayout:
    master = min(hosts, key=lambda host: (masters[host], hosts.index(host)))
    masters[master] += 1
    start = hosts.index(master)
    return GroupLayout(
        name, tuple(Member(number, hosts[(start + number) % len(hosts)]) for number in range(slaves + 1))
    )


def place_slaves(
    members: Sequence[Member],
    hosts: Sequence[str],
    count: int,
    load: Mapping[str, int],
    allow_same_host: bool,
) -> tuple[Member, ...]:
    """Slaves to add to a group: on hosts without a member of it, those with the fewest brokers first."""
    used = {member.host for member in members}
    number = max((member.member for member in members), default=-1) + 1
    placed: list[Member] = []
    counts = {host: load.get(host, 0) for host in hosts}
    for _ in range(count):
        free = [host for host in hosts if host not in used] or (list(hosts) if allow_same_host else [])
        if not free:
            raise Problem(
                "too_few_hosts",
                f"every host has a member of the group already ({', '.join(sorted(used))})",
                409,
                field="slaves",
            )
        host = min(free, key=lambda each: (counts[each], hosts.index(each)))
        counts[host] += 1
        used.add(host)
        placed.append(Member(number, host))
        number += 1
    return tuple(placed)


def group_names(count: int, taken: Sequence[str] = ()) -> list[str]:
    """broker-a, broker-b, … broker-z, broker-aa: the names that RocketMQ's own examples use."""
    found: list[str] = []
    number = 0
    while len(found) < count:
        name = f"broker-{_letters(number)}"
        number += 1
        if name not in taken:
            found.append(name)
    return found


def _letters(number: int) -> str:
    text = ""
    number += 1
    while number:
        number, rest = divmod(number - 1, 26)
        text = chr(ord("a") + rest) + text
    return text


def _check_sizes(name_servers: int, names: Sequence[str], slaves: int) -> None:
    for field, value, low, high in (
        ("name_servers", name_servers, 0, MOST_NAME_SERVERS),
        ("groups", len(names), 0, MOST_GROUPS),
        ("slaves", slaves, 0, MOST_SLAVES),
    ):
        if not low <= value <= high:
            raise Problem("invalid", f"{field} is from {low} to {high}, not {value}", 400, field=field)
    if len(set(names)) != len(names):
        raise Problem("invalid", "two groups have the same name", 400, field="groups")
