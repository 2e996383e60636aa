"""Asks a master for everything that is not in the log. The requests are RocketMQ's (21, 201, 43, 45, 402,
61, 60, and 28 for where the log ends), so any RocketMQ can be the master; what it does not know is left
out. A master of ours also has 30020.

Topics and groups are read in pages where the master has pages, else in one piece. A page belongs to a
version of the table; when the version changes meanwhile, the table is read again from its start. When the
first page has the known version, nothing else is asked for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import orjson
from msgspec.structs import replace

from engine.broker.replication.metadata import Metadata, Progress
from engine.errors import PeerError, ProtocolError
from engine.protocol.bodies.basics import DataVersion, KVTable
from engine.protocol.bodies.brokers import GroupStatus, ReplicaState
from engine.protocol.bodies.groups import MessageRequestModeSerializeWrapper, SubscriptionGroupWrapper
from engine.protocol.bodies.offsets import ConsumerOffsetSerializeWrapper, DelayOffsetSerializeWrapper
from engine.protocol.bodies.topics import TopicConfigSerializeWrapper
from engine.protocol.codes import RequestCode, ResponseCode
from engine.protocol.commands import Command
from engine.protocol.headers.groups import GetAllSubscriptionGroupRequest, GetAllSubscriptionGroupResponse
from engine.protocol.headers.topics import GetAllTopicConfigRequest, GetAllTopicConfigResponse
from engine.protocol.layouts.checkpoints import decode_timer_check

PAGE = 2_000
_MAX_PAGES = 5_000

AskMaster = Callable[[Command], Awaitable[Command]]
_W = TypeVar("_W", TopicConfigSerializeWrapper, SubscriptionGroupWrapper)
_Page = tuple[_W, int | None]
"""And how many entries the table has; None from a master without pages."""


async def read_master(
    ask: AskMaster, topics: DataVersion, groups: DataVersion
) -> tuple[Metadata, Progress, GroupStatus | None]:
    """`topics` and `groups` are the known versions. The status is None of a broker that knows no groups."""
    new_topics = await read_topics(ask, topics)
    new_groups = await read_groups(ask, groups)
    # The order matters: progress is asked for before the end of the log that it depends on.
    body = (await ask(Command(RequestCode.GET_ALL_CONSUMER_OFFSET))).body
    # A hundred thousand offsets are read in a thread.
    offsets = await asyncio.to_thread(ConsumerOffsetSerializeWrapper.decode, bytes(body))
    delays = DelayOffsetSerializeWrapper.decode(
        (await ask(Command(RequestCode.GET_ALL_DELAY_OFFSET))).body or b"{}"
    )
    modes = await _ask_if_known(ask, RequestCode.GET_ALL_MESSAGE_REQUEST_MODE)
    counts = await _ask_if_known(ask, RequestCode.GET_TIMER_METRICS)
    check = await _ask_if_known(ask, RequestCode.GET_TIMER_CHECK_POINT)
    state = await _read_state(ask)
    status = await _ask_if_known(ask, RequestCode.SIGNALBOX_GROUP_STATUS)
    metadata = Metadata(
        new_topics,
        new_groups,
        None if modes is None else MessageRequestModeSerializeWrapper.decode(modes),
        None if counts is None else _json_object(counts),
    )
    read_ms = None if check is None else decode_timer_check(check).last_read_time_ms
    progress = Progress(state.commit_log_max_offset, delays, read_ms, offsets, state.contents())
    return metadata, progress, None if status is None else GroupStatus.decode(status)


async def read_topics(ask: AskMaster, known: DataVersion) -> TopicConfigSerializeWrapper | None:
    """None: the master's version is the known one."""

    async def read(start: int, version: str | None) -> _Page[TopicConfigSerializeWrapper]:
        fields = GetAllTopicConfigRequest(start, version, PAGE).encode()
        answer = await ask(Command(RequestCode.GET_ALL_TOPIC_CONFIG, fields=fields))
        total = GetAllTopicConfigResponse.decode(answer.fields).total_topic_num
        return TopicConfigSerializeWrapper.decode(answer.body), total

    def join(
        first: TopicConfigSerializeWrapper, page: TopicConfigSerializeWrapper
    ) -> TopicConfigSerializeWrapper:
        return replace(page, topic_config_table={**first.topic_config_table, **page.topic_config_table})

    return await _read_pages(read, known, join, lambda page: len(page.topic_config_table), "topics")


async def read_groups(ask: AskMaster, known: DataVersion) -> SubscriptionGroupWrapper | None:
    """None: the master's version is the known one."""

    async def read(start: int, version: str | None) -> _Page[SubscriptionGroupWrapper]:
        fields = GetAllSubscriptionGroupRequest(start, version, PAGE).encode()
        answer = await ask(Command(RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG, fields=fields))
        total = GetAllSubscriptionGroupResponse.decode(answer.fields).total_group_num
        return SubscriptionGroupWrapper.decode(answer.body), total

    def join(first: SubscriptionGroupWrapper, page: SubscriptionGroupWrapper) -> SubscriptionGroupWrapper:
        groups = {**first.subscription_group_table, **page.subscription_group_table}
        return SubscriptionGroupWrapper(
            groups, {**first.forbidden_table, **page.forbidden_table}, page.data_version
        )

    return await _read_pages(read, known, join, lambda page: len(page.subscription_group_table), "groups")


async def _read_pages(
    read: Callable[[int, str | None], Awaitable[_Page[_W]]],
    known: DataVersion,
    join: Callable[[_W, _W], _W],
    count: Callable[[_W], int],
    table: str,
) -> _W | None:
    so_far: _W | None = None
    for _ in range(_MAX_PAGES):
        start = 0 if so_far is None else count(so_far)
        version = so_far.data_version.encode().decode() if so_far is not None and start else None
        page, total = await read(start, version)
        if page.data_version == known:
            return None
        is_empty = count(page) == 0
        if so_far is not None and page.data_version == so_far.data_version:
            page = join(so_far, page)
        if total is None or is_empty or count(page) >= total:
            return page
        so_far = page
    raise ProtocolError(f"the master's {table} change faster than they can be read")


async def _read_state(ask: AskMaster) -> ReplicaState:
    own = await _ask_if_known(ask, RequestCode.SIGNALBOX_REPLICA_STATE)
    if own is not None:
        return ReplicaState.decode(own)
    info = KVTable.decode((await ask(Command(RequestCode.GET_BROKER_RUNTIME_INFO))).body).table
    return ReplicaState(int(info.get("commitLogMaxOffset", "0")))


async def _ask_if_known(ask: AskMaster, code: RequestCode) -> bytes | None:
    """The answer's body; None when this master does not know the request."""
    try:
        return bytes((await ask(Command(code))).body)
    except PeerError as error:
        if error.code in (ResponseCode.REQUEST_CODE_NOT_SUPPORTED, ResponseCode.SYSTEM_ERROR):
            return None
        raise


def _json_object(body: bytes) -> dict[str, object] | None:
    try:
        found = orjson.loads(body or b"null")
    except orjson.JSONDecodeError:
        return None
    return found if isinstance(found, dict) else None
