"""Orderly members that are killed: the others take over their queues in order, and nothing is missing.

Apache's OrderMsgDynamicRebalanceIT, with SIGKILL of the member's JVM instead of its shutdown. The locks of
a dead member last 60 s, so all versions and sizes of groups are played at once and judged one by one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest

from .jars import CLIENT_VERSIONS
from .java_client import JavaClient
from .orders import histories, is_in_order, send_to, wait_for_shares
from .pairs import ALL_QUEUES, Pair
from .received import Message, Place, body, wait_until
from .subscribed import Subscribed

pytestmark = pytest.mark.needs_maven
SIZES = (2, 3)
COUNT = 10
TAKEOVER_TIMEOUT_S = 150
Key = tuple[str, int]


@dataclass(slots=True)
class Group:
    topic: str
    victim: Subscribed
    survivors: list[Subscribed]
    lost: list[Message] = field(default_factory=list)
    """What the victim had received when it was last asked."""
    killed: bool = False

    def send(self, prefix: str) -> None:
        send_to(self.survivors[0].java, self.topic, ALL_QUEUES, COUNT, prefix)

    def places_of(self, prefix: str) -> set[tuple[Place, int]]:
        """Queue and number of the messages of one part that anybody received."""
        if not self.killed:
            self.lost = self.victim.received()
        everything = [*self.lost, *(m for member in self.survivors for m in member.received())]
        return {
            ((message["brokerName"], message["queueId"]), int(body(message).rsplit("-", 1)[1]))
            for message in everything
            if body(message).startswith(prefix)
        }

    def is_complete(self, *prefixes: str) -> bool:
        return all(len(self.places_of(prefix)) == COUNT * len(ALL_QUEUES) for prefix in prefixes)


def member(java: JavaClient, name: str, topic: str, group: str) -> Subscribed:
    java.do("push-start", name=name, topic=topic, group=group, listener="orderly")
    return Subscribed(java, name, group)


@pytest.fixture(scope="module")
def groups(
    pair: Pair, pair_clients: Callable[[str], JavaClient], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[Key, Group]]:
    """Every group after one member was killed and the others had time to take over."""
    played: dict[Key, Group] = {}
    doomed = {
        version: JavaClient(version, pair.name_server, tmp_path_factory.mktemp("doomed"))
        for version in CLIENT_VERSIONS
    }
    for version in CLIENT_VERSIONS:
        for size in SIZES:
            played[version, size] = gathered(pair, pair_clients(version), doomed[version], size)
    for key, group in played.items():
        all_members = [*group.survivors, group.victim]
        # Eight queues among three are three, three and two.
        wait_for_shares(group.survivors[0].java, group.topic, all_members, {2: {4}, 3: {2, 3}}[key[1]])
        group.send("before")
    for group in played.values():
        # Before the kill, or what the victim received and committed last would be known to nobody.
        wait_until(lambda group=group: group.is_complete("before"), 60)
    for java in doomed.values():
        java.kill()
    for group in played.values():
        group.killed = True
        group.send("after")
    deadline = time.monotonic() + TAKEOVER_TIMEOUT_S
    while time.monotonic() < deadline and not all(g.is_complete("before", "after") for g in played.values()):
        time.sleep(0.5)
    yield played
    for group in played.values():
        for survivor in group.survivors:
            survivor.java.do("push-stop", name=survivor.name)


def gathered(pair: Pair, java: JavaClient, doomed: JavaClient, size: int) -> Group:
    label = f"crash-{java.version.replace('.', '')}-{size}"
    topic = pair.create_topic(label)
    survivors = [member(java, f"{label}-{n}", topic, label) for n in range(size - 1)]
    return Group(topic, member(doomed, f"{label}-victim", topic, label), survivors)


@pytest.mark.parametrize("size", SIZES, ids=["of-two", "of-three"])
@pytest.mark.parametrize("version", CLIENT_VERSIONS, ids=lambda version: f"client-{version}")
def test_the_queues_of_a_killed_member_go_on_in_order(
    groups: dict[Key, Group], version: str, size: int
) -> None:
    group = groups[version, size]
    everywhere = {(place, number) for place in ALL_QUEUES for number in range(COUNT)}
    assert group.places_of("before") == everywhere
    assert group.places_of("after") == everywhere
    orphaned = {place for place, _ in _part(group.lost, "before")}
    taken = {place for member in group.survivors for place, _ in _part(member.received(), "after")}
    assert orphaned, "the victim had no queue when it was killed"
    assert taken == set(ALL_QUEUES)
    for received in [group.lost, *(member.received() for member in group.survivors)]:
        for place, offsets in histories(received).items():
            assert is_in_order(offsets), (place, offsets)


def _part(messages: list[Message], prefix: str) -> list[tuple[Place, int]]:
    return [
        ((message["brokerName"], message["queueId"]), message["queueOffset"])
        for message in messages
        if body(message).startswith(prefix)
    ]
