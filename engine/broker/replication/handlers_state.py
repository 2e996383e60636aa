"""30020, our own: the state of this broker that its slaves take besides what RocketMQ's ask for."""

from __future__ import annotations

from engine.broker.replication.replica_files import ReplicaFiles
from engine.net.connection import Connection
from engine.net.outcomes import Handler, Outcome, Reply
from engine.protocol.bodies.brokers import ReplicaState
from engine.protocol.codes import RequestCode
from engine.protocol.commands import Command
from engine.store.message_store import MessageStore


class ReplicaStateHandlers:
    def __init__(self, store: MessageStore, files: ReplicaFiles) -> None:
        self._store = store
        self._files = files

    def routes(self) -> dict[int, Handler]:
        return {RequestCode.SIGNALBOX_REPLICA_STATE: self.state}

    def state(self, request: Command, client: Connection) -> Outcome:
        files = {name: file.take() for name, file in self._files.items()}
        return Reply(body=ReplicaState.of(self._store.log.max_offset, files).encode())
