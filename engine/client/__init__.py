"""Our own client: producer, consumers, admin. asyncio first; `engine.client.blocking` is the same for
threads.

Used by applications, the admin command line, the console and Spark. Depends on the wire (`engine.net`,
`engine.protocol`), never on the store or on the broker.
"""

from __future__ import annotations

from engine.client.admin import Admin
from engine.client.consuming.listeners import ConsumeStatus, Listener
from engine.client.consuming.lite_pull_consumer import LitePullConsumer
from engine.client.consuming.push_consumer import PushConsumer
from engine.client.instance.instance import ClientInstance
from engine.client.messages import Message, ReceivedMessage, SendResult, SendStatus
from engine.client.options import (
    ClientOptions,
    ConsumerOptions,
    LitePullOptions,
    PopOptions,
    ProducerOptions,
    PullOptions,
)
from engine.client.pop.pop_consumer import PopConsumer
from engine.client.pop.pop_requests import PoppedMessage
from engine.client.sending.producer import Producer
from engine.client.sending.transaction_producer import (
    TransactionProducer,
    TransactionResult,
    TransactionState,
)
from engine.net.tls import TlsOptions
from engine.protocol.bodies.basics import MessageQueue
from engine.protocol.bodies.clients import ConsumeFromWhere, MessageModel
from engine.protocol.signing import Credentials

__all__ = [
    "Admin",
    "ClientInstance",
    "ClientOptions",
    "ConsumeFromWhere",
    "ConsumeStatus",
    "ConsumerOptions",
    "Credentials",
    "Listener",
    "LitePullConsumer",
    "LitePullOptions",
    "Message",
    "MessageModel",
    "MessageQueue",
    "PopConsumer",
    "PopOptions",
    "PoppedMessage",
    "Producer",
    "ProducerOptions",
    "PullOptions",
    "PushConsumer",
    "ReceivedMessage",
    "SendResult",
    "SendStatus",
    "TlsOptions",
    "TransactionProducer",
    "TransactionResult",
    "TransactionState",
]
