"""Where members go: no host has two of a group, masters are spread, what cannot be is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusters.provisioning.layout import Member, group_names, lay_out, place_slaves
from clusters.provisioning.ports import BLOCK, broker_ports, pick_broker_port, pick_name_server_port
from console.core.problems import Problem


def test_three_hosts_take_three_groups_of_three_with_one_master_each() -> None:
    layout = lay_out(["h1", "h2", "h3"], name_servers=3, group_names=group_names(3), slaves=2)
    assert [server.host for server in layout.name_servers] == ["h1", "h2", "h3"]
    for group in layout.groups:
        assert sorted(member.host for member in group.members) == ["h1", "h2", "h3"]
    assert sorted(group.members[0].host for group in layout.groups) == ["h1", "h2", "h3"]


@given(hosts=st.integers(1, 9), groups=st.integers(1, 12), slaves=st.integers(0, 8), data=st.data())
def test_no_host_has_two_members_of_a_group_and_masters_differ_by_one_at_most(
    hosts: int, groups: int, slaves: int, data: st.DataObject
) -> None:
    names = [f"h{number}" for number in range(hosts)]
    if slaves + 1 > hosts:
        with pytest.raises(Problem, match="needs"):
            lay_out(names, name_servers=1, group_names=group_names(groups), slaves=slaves)
        return
    layout = lay_out(names, name_servers=1, group_names=group_names(groups), slaves=slaves)
    for group in layout.groups:
        assert len({member.host for member in group.members}) == slaves + 1
    masters = [sum(group.members[0].host == name for group in layout.groups) for name in names]
    assert max(masters) - min(masters) <= 1


def test_too_few_hosts_are_refused_unless_it_is_wanted() -> None:
    with pytest.raises(Problem) as caught:
        lay_out(["h1"], name_servers=1, group_names=["a"], slaves=1)
    assert caught.value.errors[0]["field"] == "slaves"
    layout = lay_out(["h1"], name_servers=1, group_names=["a"], slaves=1, allow_same_host=True)
    assert [member.host for member in layout.groups[0].members] == ["h1", "h1"]


@pytest.mark.parametrize(
    ("sizes", "field"),
    [((10, 1, 0), "name_servers"), ((1, 65, 0), "groups"), ((1, 1, 9), "slaves")],
)
def test_sizes_out_of_range_are_refused_by_name(sizes: tuple[int, int, int], field: str) -> None:
    with pytest.raises(Problem) as caught:
        lay_out(["h1"], name_servers=sizes[0], group_names=group_names(sizes[1]), slaves=sizes[2])
    assert caught.value.errors[0]["field"] == field


def test_added_slaves_go_to_hosts_without_a_member_the_emptiest_first() -> None:
    members = [Member(0, "h1"), Member(2, "h2")]
    placed = place_slaves(members, ["h1", "h2", "h3", "h4"], 2, {"h3": 5, "h4": 1}, False)
    assert placed == (Member(3, "h4"), Member(4, "h3"))
    with pytest.raises(Problem, match="every host has a member"):
        place_slaves(members, ["h1", "h2"], 1, {}, False)


def test_names_of_groups_skip_those_that_are_taken() -> None:
    assert group_names(3, ["broker-a", "broker-c"]) == ["broker-b", "broker-d", "broker-e"]
    assert group_names(28)[-2:] == ["broker-aa", "broker-ab"]


def test_blocks_of_ports_do_not_overlap_and_skip_what_is_in_use() -> None:
    first = pick_broker_port(10909, 10930, [])
    assert broker_ports(first) == (10911, 10909, 10910, 10912)
    second = pick_broker_port(10909, 10930, [first])
    assert second == first + BLOCK
    in_use = {second + 1}
    assert pick_broker_port(10909, 10930, [first], lambda port: port not in in_use) == second + BLOCK
    assert pick_name_server_port(9876, 9878, [9876], lambda port: port != 9877) == 9878


def test_a_full_range_is_refused() -> None:
    with pytest.raises(Problem, match="no port"):
        pick_broker_port(10909, 10912, [])
    with pytest.raises(Problem, match="no port"):
        pick_name_server_port(9876, 9876, [9876])
