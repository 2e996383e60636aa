"""Consumer group administration: 200 and 225 create, 207 delete, 201 and 352 show, 353 forbid.

Everything is checked before anything changes; a list is accepted as a whole or not at all. Changes are
answered once subscriptionGroup.json holds them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from msgspec.structs import replace

from engine.broker.admin.table_pages import TablePages, table_reply
from engine.broker.groups.group_table import GROUPS_FILE, SubscriptionGroupTable
from engine.broker.offsets.offset_table import OFFSETS_FILE, ConsumerOffsets
from engine.broker.settings.options import LiveOptions
from engine.broker.stats.traffic import Traffic
from engine.broker.topics.topic_rules import invalid, no_such_group
from engine.broker.topics.topic_table import MAX_QUEUES_PER_TOPIC
from engine.errors import BadRequest
from engine.net.connection import Connection
from engine.net.outcomes import Handler, Outcome, Persist, Reply
from engine.protocol.bodies.groups import (
    GroupForbidden,
    SubscriptionGroupConfig,
    SubscriptionGroupList,
    SubscriptionGroupWrapper,
)
from engine.protocol.codes import RequestCode
from engine.protocol.commands import Command
from engine.protocol.headers.groups import (
    DeleteSubscriptionGroupRequest,
    GetAllSubscriptionGroupRequest,
    GetAllSubscriptionGroupResponse,
    GetSubscriptionGroupConfigRequest,
    UpdateGroupForbiddenRequest,
)
from engine.protocol.names import check_group, check_topic

log = logging.getLogger(__name__)


@dataclass(eq=False, repr=False)
class GroupAdminHandlers:
    groups: SubscriptionGroupTable
    offsets: ConsumerOffsets
    traffic: Traffic
    live: LiveOptions
    now_ms: Callable[[], int]
    save: Callable[[str], None]
    _pages: TablePages = field(default_factory=TablePages, init=False)

    def routes(self) -> dict[int, Handler]:
        return {
            RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP: self.put,
            RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST: self.put_list,
            RequestCode.DELETE_SUBSCRIPTIONGROUP: self.delete,
            RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG: self.all_configs,
            RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG: self.config,
            RequestCode.UPDATE_AND_GET_GROUP_FORBIDDEN: self.forbid,
        }

    # -- changing -------------------------------------------------------------------------------------------

    def put(self, request: Command, client: Connection) -> Outcome:
        return self._put_all([SubscriptionGroupConfig.decode(request.body)], client)

    def put_list(self, request: Command, client: Connection) -> Outcome:
        return self._put_all(SubscriptionGroupList.decode(request.body).group_config_list, client)

    def _put_all(self, configs: Iterable[SubscriptionGroupConfig], client: Connection) -> Outcome:
        checked = [checked_group(config, self.groups.get(config.group_name)) for config in configs]
        now_ms = self.now_ms()
        for config in checked:
            if self.groups.put(config, now_ms):
                log.info("%s set group %s", client.peer_name, config)
        return Persist(GROUPS_FILE, Reply())

    def delete(self, request: Command, client: Connection) -> Outcome:
        """Deleting an unknown group succeeds. Its offsets stay unless cleanOffset is set."""
        header = DeleteSubscriptionGroupRequest.decode(request.fields)
        check_group(header.group_name)
        log.info("%s deleted group %s", client.peer_name, header.group_name)
        self.groups.delete(header.group_name, self.now_ms())
        self.traffic.forget_group(header.group_name)
        if header.clean_offset:
            self.offsets.forget_group(header.group_name)
            self.save(OFFSETS_FILE)
        return Persist(GROUPS_FILE, Reply())

    def forbid(self, request: Command, client: Connection) -> Outcome:
        """Whether the group may read the topic; without `readable` the question only."""
        header = UpdateGroupForbiddenRequest.decode(request.fields)
        check_group(header.group)
        check_topic(header.topic)
        if header.readable is not None:
            self.groups.set_readable(header.group, header.topic, header.readable, self.now_ms())
        readable = not self.groups.is_read_forbidden(header.group, header.topic)
        reply = Reply(body=GroupForbidden(header.group, header.topic, readable).encode())
        return reply if header.readable is None else Persist(GROUPS_FILE, reply)

    # -- showing --------------------------------------------------------------------------------------------

    def all_configs(self, request: Command, client: Connection) -> Outcome:
        asked = GetAllSubscriptionGroupRequest.decode(request.fields)
        groups = self.groups
        fields = GetAllSubscriptionGroupResponse(len(groups)).encode()
        if asked == GetAllSubscriptionGroupRequest():
            shown = groups.configs()
        else:
            shown = self._pages.page(groups, asked.group_seq, asked.data_version, asked.max_group_num)
        forbidden = {group: dict(topics) for group, topics in groups.forbidden().items() if group in shown}
        return table_reply(SubscriptionGroupWrapper(shown, forbidden, groups.version), len(shown), fields)

    def config(self, request: Command, client: Connection) -> Outcome:
        """An unknown group is created here if auto-creation is on, as by its first pull."""
        group = GetSubscriptionGroupConfigRequest.decode(request.fields).group
        config, is_new = self.groups.find_or_create(
            group, self.live.auto_create_subscription_group, self.now_ms(), client.remote[0]
        )
        if config is None:
            raise no_such_group(group)
        reply = Reply(body=config.encode())
        return Persist(GROUPS_FILE, reply) if is_new else reply


def checked_group(
    asked: SubscriptionGroupConfig, current: SubscriptionGroupConfig | None
) -> SubscriptionGroupConfig:
    """What is kept of an administrator's wish; attributes mean nothing here and stay as they are."""
    check_group(asked.group_name)
    if not 0 <= asked.retry_queue_nums <= MAX_QUEUES_PER_TOPIC:
        raise invalid(f"retryQueueNums {asked.retry_queue_nums} is outside 0..{MAX_QUEUES_PER_TOPIC}")
    if asked.retry_max_times < -1:
        raise invalid(f"retryMaxTimes {asked.retry_max_times} is below -1")
    if asked.broker_id < 0 or asked.which_broker_when_consume_slowly < 0:
        raise invalid("a broker id is negative")
    if asked.attributes:
        raise BadRequest(f"unknown group attribute {next(iter(asked.attributes)):.80}; there are none")
    return replace(asked, attributes=dict(current.attributes) if current is not None else {})
