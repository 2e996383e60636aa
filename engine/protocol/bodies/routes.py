"""Where a topic lives: the answers of a name server to 105 and 106.

A route has two spellings, chosen by who asks: the default one with unquoted broker ids, and the standard one
(quoted keys, non-ASCII escaped) for clients since 4.9.4 or any that ask for it.
"""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from engine.protocol import fastjson
from engine.protocol.bodies.topics import PERM_READ, PERM_WRITE, TopicQueueMappingInfo
from engine.protocol.wire import Body, Int32, Int64

MASTER_ID = 0


class QueueData(Body, frozen=True):
    """A topic's queues on one broker; 4.8 and older misspell the flag."""

    also: ClassVar = {"topicSysFlag": "topicSynFlag"}

    broker_name: str = ""
    read_queue_nums: Int32 = 0
    write_queue_nums: Int32 = 0
    perm: Int32 = 0
    topic_sys_flag: Int32 = field(default=0, name="topicSysFlag")

    @property
    def is_readable(self) -> bool:
        return bool(self.perm & PERM_READ)

    @property
    def is_writable(self) -> bool:
        return bool(self.perm & PERM_WRITE)


class BrokerData(Body, frozen=True):
    """A broker set: its members' addresses by broker id, 0 being the master."""

    cluster: str = ""
    broker_name: str = ""
    broker_addrs: dict[Int64, str] = field(default_factory=dict)
    enable_acting_master: bool = False
    zone_name: str | None = None

    @property
    def master_addr(self) -> str | None:
        return self.broker_addrs.get(MASTER_ID)


class TopicRouteData(Body, frozen=True):
    """Answer to 105; order_topic_conf looks like `broker-a:8;broker-b:8`."""

    queue_datas: tuple[QueueData, ...] = ()
    broker_datas: tuple[BrokerData, ...] = ()
    filter_server_table: dict[str, tuple[str, ...]] = field(default_factory=dict)
    order_topic_conf: str | None = None
    topic_queue_mapping_by_broker: dict[str, TopicQueueMappingInfo] | None = None

    def encode(self, standard: bool = False) -> bytes:
        return fastjson.dumps(self.to_json(), quote_numeric_keys=standard, ascii=standard)


class ClusterInfo(Body, frozen=True):
    """Answer to 106."""

    broker_addr_table: dict[str, BrokerData] = field(default_factory=dict)
    cluster_addr_table: dict[str, frozenset[str]] = field(default_factory=dict)


class BrokerMemberGroup(Body, frozen=True):
    cluster: str = ""
    broker_name: str = ""
    broker_addrs: dict[Int64, str] = field(default_factory=dict)


class GetBrokerMemberGroupResponseBody(Body, frozen=True):
    """Answer to 901."""

    broker_member_group: BrokerMemberGroup | None = None
