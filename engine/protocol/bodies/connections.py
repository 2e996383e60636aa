"""Who is connected: answers to 203, 204 and 328."""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.protocol.bodies.heartbeats import ConsumeFromWhere, ConsumeType, MessageModel, SubscriptionData
from engine.protocol.codes import LanguageCode
from engine.protocol.wire import Body, Int32, Int64, named


@dataclass(frozen=True, slots=True)
class Connection(Body):
    """client_addr is `ip:port`, version an MQVersion ordinal."""

    client_id: str = ""
    client_addr: str = ""
    language: LanguageCode = LanguageCode.OTHER
    version: Int32 = 0


@dataclass(frozen=True, slots=True)
class ConsumerConnection(Body):
    """Answer to 203."""

    connection_set: tuple[Connection, ...] = ()
    subscription_table: dict[str, SubscriptionData] = field(default_factory=dict)
    consume_type: ConsumeType | None = None
    message_model: MessageModel | None = None
    consume_from_where: ConsumeFromWhere | None = None


@dataclass(frozen=True, slots=True)
class ProducerConnection(Body):
    """Answer to 204."""

    connection_set: tuple[Connection, ...] = ()


@dataclass(frozen=True, slots=True)
class ProducerInfo(Body):
    client_id: str = ""
    remote_ip: str = field(default="", metadata=named("remoteIP"))
    language: LanguageCode = LanguageCode.OTHER
    version: Int32 = 0
    last_update_timestamp: Int64 = 0


@dataclass(frozen=True, slots=True)
class ProducerTableInfo(Body):
    """Answer to 328: producers by group."""

    data: dict[str, tuple[ProducerInfo, ...]] = field(default_factory=dict)
