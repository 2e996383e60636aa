"""A master's topics and groups: page by page from who has pages, in one piece from who has not.

A page belongs to a version of the table; when the version changes on the way, the table is read anew. Nothing
but the first page is asked for when it says that nothing is new.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from msgspec.structs import replace

from engine.errors import ProtocolError
from engine.protocol.bodies.basics import DataVersion
from engine.protocol.bodies.groups import SubscriptionGroupWrapper
from engine.protocol.bodies.topics import TopicConfigSerializeWrapper
from engine.protocol.codes import RequestCode
from engine.protocol.commands import Command
from engine.protocol.headers.groups import GetAllSubscriptionGroupRequest, GetAllSubscriptionGroupResponse
from engine.protocol.headers.topics import GetAllTopicConfigRequest, GetAllTopicConfigResponse

PAGE = 2_000
_MAX_PAGES = 5_000

AskMaster = Callable[[Command], Awaitable[Command]]


async def read_topics(ask: AskMaster, known: DataVersion) -> TopicConfigSerializeWrapper | None:
    """None: the master's version is the known one."""
    whole = TopicConfigSerializeWrapper()
    for _ in range(_MAX_PAGES):
        start, version = len(whole.topic_config_table), whole.data_version
        header = GetAllTopicConfigRequest(start, version.encode().decode() if start else None, PAGE)
        answer = await ask(Command(RequestCode.GET_ALL_TOPIC_CONFIG, fields=header.encode()))
        page = TopicConfigSerializeWrapper.decode(answer.body)
        if page.data_version == known:
            return None
        total = GetAllTopicConfigResponse.decode(answer.fields).total_topic_num
        is_next = start > 0 and page.data_version == version
        table = (
            {**whole.topic_config_table, **page.topic_config_table} if is_next else page.topic_config_table
        )
        if total is None or len(table) >= total or not page.topic_config_table:
            return replace(page, topic_config_table=table)
        whole = replace(page, topic_config_table=table)
    raise ProtocolError("the master's topics change faster than they can be read")


async def read_groups(ask: AskMaster, known: DataVersion) -> SubscriptionGroupWrapper | None:
    """None: the master's version is the known one."""
    whole = SubscriptionGroupWrapper()
    for _ in range(_MAX_PAGES):
        start, version = len(whole.subscription_group_table), whole.data_version
        header = GetAllSubscriptionGroupRequest(start, version.encode().decode() if start else None, PAGE)
        answer = await ask(Command(RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG, fields=header.encode()))
        page = SubscriptionGroupWrapper.decode(answer.body)
        if page.data_version == known:
            return None
        total = GetAllSubscriptionGroupResponse.decode(answer.fields).total_group_num
        if start > 0 and page.data_version == version:
            page = SubscriptionGroupWrapper(
                {**whole.subscription_group_table, **page.subscription_group_table},
                {**whole.forbidden_table, **page.forbidden_table},
                version,
            )
        is_whole = total is None or len(page.subscription_group_table) >= total
        if is_whole or len(page.subscription_group_table) == start:
            return page
        whole = page
    raise ProtocolError("the master's groups change faster than they can be read")
