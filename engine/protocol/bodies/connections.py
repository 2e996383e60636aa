"""Who is connected: answers to 203, 204 and 328."""

from __future__ import annotations

from msgspec import field

from engine.protocol.bodies.heartbeats import ConsumeFromWhere, ConsumeType, MessageModel, SubscriptionData
from engine.protocol.codes import LanguageCode
from engine.protocol.wire import Body, Int32, Int64


class Connection(Body, frozen=True):
    """client_addr is `ip:port`, version an MQVersion ordinal."""

    client_id: str = ""
    client_addr: str = ""
    language: LanguageCode = LanguageCode.OTHER
    version: Int32 = 0


class ConsumerConnection(Body, frozen=True):
    """Answer to 203."""

    connection_set: tuple[Connection, ...] = ()
    subscription_table: dict[str, SubscriptionData] = field(default_factory=dict)
    consume_type: ConsumeType | None = None
    message_model: MessageModel | None = None
    consume_from_where: ConsumeFromWhere | None = None


class ProducerConnection(Body, frozen=True):
    """Answer to 204."""

    connection_set: tuple[Connection, ...] = ()


class ProducerInfo(Body, frozen=True):
    client_id: str = ""
    remote_ip: str = field(default="", name="remoteIP")
    language: LanguageCode = LanguageCode.OTHER
    version: Int32 = 0
    last_update_timestamp: Int64 = 0


class ProducerTableInfo(Body, frozen=True):
    """Answer to 328: producers by group."""

    data: dict[str, tuple[ProducerInfo, ...]] = field(default_factory=dict)
