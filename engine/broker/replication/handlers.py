"""Replication as operators and other brokers see it: 906 and 907 status, 908 flush offset, 1007 epochs."""

from __future__ import annotations

from engine.broker.failover.role import Role
from engine.broker.replication.handlers_status import HAStatus
from engine.broker.settings.options import BrokerIdentity
from engine.errors import Refused
from engine.net.connection import Connection
from engine.net.outcomes import Handler, Outcome, Reply
from engine.protocol.bodies.brokers import EpochEntryCache
from engine.protocol.codes import RequestCode
from engine.protocol.commands import Command
from engine.protocol.headers.brokers import (
    ExchangeHAInfoRequest,
    ExchangeHAInfoResponse,
    ResetMasterFlushOffsetRequest,
)
from engine.store.message_store import MessageStore


class HAAdminHandlers:
    def __init__(self, identity: BrokerIdentity, role: Role, store: MessageStore, status: HAStatus) -> None:
        self._identity = identity
        self._role = role
        self._status = status
        self._store = store

    def routes(self) -> dict[int, Handler]:
        return {
            RequestCode.EXCHANGE_BROKER_HA_INFO: self.exchange,
            RequestCode.GET_BROKER_HA_STATUS: self.status,
            RequestCode.RESET_MASTER_FLUSH_OFFSET: self.reset_flush_offset,
            RequestCode.GET_BROKER_EPOCH_CACHE: self.epochs,
        }

    def exchange(self, request: Command, client: Connection) -> Outcome:
        """A master tells who asks. Whom to follow is not to be had from any stranger: nothing is taken."""
        if not ExchangeHAInfoRequest.decode(request.fields).only_asks or not self._role.is_master:
            return Reply()
        who = self._identity
        answer = ExchangeHAInfoResponse(who.ha_address, self._store.log.flushed_offset, who.address)
        return Reply(fields=answer.encode())

    def status(self, request: Command, client: Connection) -> Outcome:
        return Reply(body=self._status.runtime_info().encode())

    def reset_flush_offset(self, request: Command, client: Connection) -> Outcome:
        """For slaves; a master knows its own."""
        ResetMasterFlushOffsetRequest.decode(request.fields)
        return Reply()

    def epochs(self, request: Command, client: Connection) -> Outcome:
        """As in RocketMQ's controller mode, whose epochs mean the same."""
        entries, who = self._status.epochs(), self._identity
        if not entries:
            raise Refused("this broker is in no group: it keeps no epochs")
        end = self._store.log.max_offset
        cache = EpochEntryCache(who.cluster, who.name, self._role.broker_id, entries, end)
        return Reply(body=cache.encode())
