"""The route table: who is alive, which topics each broker group serves. Pure; `now_ms` is passed in.

Everything is learnt from registrations and forgotten when a broker unregisters, its connection closes, or it
has been silent for its time-out. Two name servers may disagree for a while; neither is wrong.
Invariant: a broker address is in `_live` exactly while it is in its group's `addresses`.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable
from dataclasses import dataclass, field

from msgspec.structs import replace

from engine.protocol.bodies.basics import DataVersion
from engine.protocol.bodies.registration import RegisterBrokerBody
from engine.protocol.bodies.routes import BrokerData, ClusterInfo, QueueData, TopicRouteData
from engine.protocol.bodies.topics import TopicConfig
from engine.protocol.headers.namesrv import RegisterBrokerRequest

MASTER_ID = 0
WRITE_BIT = 2


@dataclass(slots=True)
class BrokerGroup:
    """The brokers that share a name: one master (id 0) and its slaves."""

    name: str
    cluster: str
    addresses: dict[int, str] = field(default_factory=dict)
    enable_acting_master: bool = False


@dataclass(slots=True)
class LiveBroker:
    last_update_ms: int
    timeout_ms: int
    data_version: DataVersion
    ha_address: str
    channel: Hashable
    group: str
    broker_id: int


@dataclass(frozen=True, slots=True)
class Registered:
    """What a registering broker is told: its master's addresses, if it is a slave of a known master."""

    ha_server_addr: str | None = None
    master_addr: str | None = None
    is_refused: bool = False
    is_new_channel: bool = False


class RouteTable:
    def __init__(self, default_timeout_ms: int = 120_000, *, drops_unregistered: bool = False) -> None:
        self._default_timeout_ms = default_timeout_ms
        self.drops_unregistered = drops_unregistered
        """deleteTopicWithBrokerRegistration: a registration names all topics of its broker, or they go."""
        self._queues: dict[str, dict[str, QueueData]] = {}
        self._groups: dict[str, BrokerGroup] = {}
        self._clusters: dict[str, set[str]] = {}
        self._live: dict[tuple[str, str], LiveBroker] = {}

    # -- brokers --------------------------------------------------------------------------------------------

    def register(
        self, request: RegisterBrokerRequest, body: RegisterBrokerBody, channel: Hashable, now_ms: int
    ) -> Registered | None:
        """None when a single-topic update comes from a broker that never registered in full."""
        version = body.topic_config_serialize_wrapper.data_version
        topics = body.topic_config_serialize_wrapper.topic_config_table
        name, broker_id, address = request.broker_name, request.broker_id, request.broker_addr
        known = self._groups.get(name)
        if known is not None and self._is_stale(known, request, version):
            return Registered(is_refused=True)
        is_known_id = known is not None and broker_id in known.addresses
        if not is_known_id and len(topics) == 1:
            return None
        group = self._join(request)
        live_key = (request.cluster_name, address)
        previous = self._live.get(live_key)
        is_changed = previous is None or not is_known_id or previous.data_version != version
        self._live[live_key] = LiveBroker(
            now_ms,
            request.heartbeat_timeout_millis or self._default_timeout_ms,
            version,
            request.ha_server_addr,
            channel,
            name,
            broker_id,
        )
        if self._speaks_for_topics(group, request):
            if self.drops_unregistered:
                self._drop_unregistered(name, topics.keys())
            self._take_topics(request, topics.values(), is_changed)
        return self._answer(group, broker_id, is_new_channel=previous is None or previous.channel != channel)

    def _is_stale(self, known: BrokerGroup, request: RegisterBrokerRequest, version: DataVersion) -> bool:
        """Another address already holds this id with a newer election: the newcomer is an old master."""
        holder = known.addresses.get(request.broker_id)
        if holder is None or holder == request.broker_addr:
            return False
        live = self._live.get((known.cluster, holder))
        return live is not None and live.data_version.state_version > version.state_version

    def _join(self, request: RegisterBrokerRequest) -> BrokerGroup:
        name, cluster = request.broker_name, request.cluster_name
        self._clusters.setdefault(cluster, set()).add(name)
        group = self._groups.setdefault(name, BrokerGroup(name, cluster))
        group.cluster = cluster
        group.enable_acting_master = bool(request.enable_acting_master)
        for broker_id, address in list(group.addresses.items()):
            if address == request.broker_addr and broker_id != request.broker_id:
                del group.addresses[broker_id]
        replaced = group.addresses.get(request.broker_id)
        if replaced is not None and replaced != request.broker_addr:
            self._live.pop((cluster, replaced), None)
        group.addresses[request.broker_id] = request.broker_addr
        return group

    @staticmethod
    def _speaks_for_topics(group: BrokerGroup, request: RegisterBrokerRequest) -> bool:
        if request.broker_id == MASTER_ID:
            return True
        is_acting = request.enable_acting_master is not None
        return is_acting and request.broker_id == min(group.addresses)

    def _drop_unregistered(self, name: str, registered: Collection[str]) -> None:
        for topic in [topic for topic, brokers in self._queues.items() if name in brokers]:
            if topic not in registered:
                self._remove_queue(topic, name)

    def _take_topics(
        self, request: RegisterBrokerRequest, topics: Iterable[TopicConfig], is_changed: bool
    ) -> None:
        name = request.broker_name
        # A slave that stands in for a dead master serves reads only.
        drops_write = request.broker_id != MASTER_ID and bool(request.enable_acting_master)
        for topic in topics:
            brokers = self._queues.setdefault(topic.topic_name, {})
            if is_changed or name not in brokers:
                perm = topic.perm & ~WRITE_BIT if drops_write else topic.perm
                brokers[name] = QueueData(
                    broker_name=name,
                    read_queue_nums=topic.read_queue_nums,
                    write_queue_nums=topic.write_queue_nums,
                    perm=perm,
                    topic_sys_flag=topic.topic_sys_flag,
                )

    def _answer(self, group: BrokerGroup, broker_id: int, *, is_new_channel: bool) -> Registered:
        master = group.addresses.get(MASTER_ID)
        if broker_id == MASTER_ID or master is None:
            return Registered(is_new_channel=is_new_channel)
        live = self._live.get((group.cluster, master))
        return Registered(live.ha_address if live else None, master, is_new_channel=is_new_channel)

    def unregister(self, cluster: str, address: str, name: str, broker_id: int) -> bool:
        """Forget one broker; its group goes with the last, and the topics that only it served."""
        self._live.pop((cluster, address), None)
        group = self._groups.get(name)
        if group is None or group.addresses.get(broker_id) != address:
            return False
        del group.addresses[broker_id]
        if not group.addresses:
            self._drop_group(name, cluster)
        elif broker_id == MASTER_ID and group.enable_acting_master:
            self._close_for_writes(name)
        return True

    def _drop_group(self, name: str, cluster: str) -> None:
        del self._groups[name]
        names = self._clusters.get(cluster, set())
        names.discard(name)
        if not names:
            self._clusters.pop(cluster, None)
        for topic in [topic for topic, brokers in self._queues.items() if name in brokers]:
            self._remove_queue(topic, name)

    def _close_for_writes(self, name: str) -> None:
        for brokers in self._queues.values():
            data = brokers.get(name)
            if data is not None:
                brokers[name] = replace(data, perm=data.perm & ~WRITE_BIT)

    def _remove_queue(self, topic: str, name: str) -> None:
        brokers = self._queues[topic]
        brokers.pop(name, None)
        if not brokers:
            del self._queues[topic]

    def touch(self, cluster: str, address: str, now_ms: int) -> bool:
        live = self._live.get((cluster, address))
        if live is not None:
            live.last_update_ms = now_ms
        return live is not None

    def data_version(self, cluster: str, address: str) -> DataVersion | None:
        live = self._live.get((cluster, address))
        return live.data_version if live is not None else None

    def expired(self, now_ms: int) -> list[tuple[str, str, LiveBroker]]:
        return [
            (cluster, address, live)
            for (cluster, address), live in self._live.items()
            if now_ms > live.last_update_ms + live.timeout_ms
        ]

    def served_by(self, channel: Hashable) -> list[tuple[str, str, LiveBroker]]:
        return [(*key, live) for key, live in self._live.items() if live.channel == channel]

    # -- what clients and operators ask ---------------------------------------------------------------------

    def route(self, topic: str, order_conf: str | None = None) -> TopicRouteData | None:
        queues = self._queues.get(topic)
        if not queues:
            return None
        names = [name for name in queues if name in self._groups]
        if not names:
            return None
        return TopicRouteData(
            broker_datas=tuple(self._broker_data(self._groups[name]) for name in names),
            queue_datas=tuple(queues[name] for name in names),
            order_topic_conf=order_conf,
        )

    @staticmethod
    def _broker_data(group: BrokerGroup) -> BrokerData:
        return BrokerData(
            broker_name=group.name,
            cluster=group.cluster,
            broker_addrs=dict(sorted(group.addresses.items())),
            enable_acting_master=group.enable_acting_master,
        )

    def cluster_info(self) -> ClusterInfo:
        return ClusterInfo(
            broker_addr_table={name: self._broker_data(group) for name, group in self._groups.items()},
            cluster_addr_table={cluster: frozenset(names) for cluster, names in self._clusters.items()},
        )

    def group(self, name: str) -> BrokerGroup | None:
        return self._groups.get(name)

    def topics(self) -> list[str]:
        return sorted(self._queues)

    def topics_of_cluster(self, cluster: str) -> list[str]:
        names = self._clusters.get(cluster, set())
        return sorted(topic for topic, brokers in self._queues.items() if not names.isdisjoint(brokers))

    def topics_with_flag(self, wanted: int, unwanted: int = 0) -> list[str]:
        def has(brokers: dict[str, QueueData]) -> bool:
            flag = next(iter(brokers.values())).topic_sys_flag
            return bool(flag & wanted) and not flag & unwanted

        return sorted(topic for topic, brokers in self._queues.items() if has(brokers))

    def system_names(self) -> tuple[list[str], str | None]:
        """Cluster and broker names (topics of the same names exist), and one broker's address."""
        address = next((a for group in self._groups.values() for a in group.addresses.values()), None)
        return sorted(self._clusters) + sorted(self._groups), address

    # -- what operators change ------------------------------------------------------------------------------

    def set_write_permission(self, name: str, allowed: bool) -> int:
        """Add or wipe the write bit of every topic on one broker group; how many topics that concerned."""
        count = 0
        for brokers in self._queues.values():
            data = brokers.get(name)
            if data is not None:
                perm = data.perm | WRITE_BIT if allowed else data.perm & ~WRITE_BIT
                brokers[name] = replace(data, perm=perm)
                count += 1
        return count

    def delete_topic(self, topic: str, cluster: str | None = None) -> None:
        if cluster is None:
            self._queues.pop(topic, None)
            return
        for name in self._clusters.get(cluster, set()) & set(self._queues.get(topic, ())):
            self._remove_queue(topic, name)

    def add_topic(self, topic: str, queue_datas: Iterable[QueueData]) -> None:
        """An operator names the queues; only groups that are registered count."""
        for data in queue_datas:
            if data.broker_name in self._groups:
                self._queues.setdefault(topic, {})[data.broker_name] = data
