"""The broker itself as administrators see it: 25 and 26 settings, 28 runtime info, 315 statistics."""

from __future__ import annotations

import logging
from collections.abc import Callable

from engine.broker.settings.config_changes import CHANGES_FILE, ConfigChanges
from engine.broker.settings.options import BrokerOptions, options_text
from engine.broker.stats.broker_stats import BrokerStats
from engine.errors import NotFound
from engine.net.connection import Connection
from engine.net.outcomes import Handler, Outcome, Persist, Reply
from engine.protocol.bodies.basics import KVTable
from engine.protocol.codes import RequestCode
from engine.protocol.commands import Command
from engine.protocol.headers.brokers import GetBrokerConfigResponse, ViewBrokerStatsDataRequest

log = logging.getLogger(__name__)


class BrokerAdminHandlers:
    def __init__(
        self,
        options: BrokerOptions,
        changes: ConfigChanges,
        stats: BrokerStats,
        *,
        runtime_info: Callable[[], dict[str, str]],
        now_ms: Callable[[], int],
    ) -> None:
        self._options = options
        self._changes = changes
        self._stats = stats
        self._runtime_info = runtime_info
        self._now_ms = now_ms

    def routes(self) -> dict[int, Handler]:
        return {
            RequestCode.UPDATE_BROKER_CONFIG: self.update_config,
            RequestCode.GET_BROKER_CONFIG: self.config,
            RequestCode.GET_BROKER_RUNTIME_INFO: self.runtime_info,
            RequestCode.VIEW_BROKER_STATS_DATA: self.stats,
        }

    def update_config(self, request: Command, client: Connection) -> Outcome:
        settings = self._changes.plan(bytes(request.body))
        if not settings:
            return Reply()
        log.warning("%s changes settings: %s", client.peer_name, settings)
        self._changes.stage(settings, self._now_ms())
        return Persist(CHANGES_FILE, Reply(remark=f"kept in config/{CHANGES_FILE}"))

    def config(self, request: Command, client: Connection) -> Outcome:
        fields = GetBrokerConfigResponse(self._changes.version.encode().decode()).encode()
        return Reply(fields=fields, body=options_text(self._options).encode())

    def runtime_info(self, request: Command, client: Connection) -> Outcome:
        return Reply(body=KVTable(self._runtime_info()).encode())

    def stats(self, request: Command, client: Connection) -> Outcome:
        header = ViewBrokerStatsDataRequest.decode(request.fields)
        data = self._stats.view(header.stats_name, header.stats_key, self._now_ms())
        if data is None:
            raise NotFound(f"the stats <{header.stats_name:.80}> <{header.stats_key:.400}> not exist")
        return Reply(body=data.encode())
