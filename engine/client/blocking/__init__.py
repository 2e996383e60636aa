"""The client without await: the same names and methods, for scripts, threads and Django views.

Each object runs an event loop in its own thread; objects that are given one `LoopThread` share it.
"""

from __future__ import annotations

from engine.client.blocking.admin import Admin
from engine.client.blocking.clients import (
    LitePullConsumer,
    PopConsumer,
    Producer,
    PushConsumer,
    TransactionProducer,
)
from engine.client.blocking.loop_thread import LoopThread

__all__ = [
    "Admin",
    "LitePullConsumer",
    "LoopThread",
    "PopConsumer",
    "Producer",
    "PushConsumer",
    "TransactionProducer",
]
