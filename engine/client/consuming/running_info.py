"""What a consumer tells an operator who asks (307), in RocketMQ's shape. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engine.client.consuming.consumed_queues import ProcessQueue
from engine.client.options import ConsumerOptions
from engine.protocol.bodies.basics import MessageQueue
from engine.protocol.bodies.clients import (
    PROP_CLIENT_VERSION,
    PROP_CONSUME_ORDERLY,
    PROP_CONSUME_TYPE,
    PROP_CONSUMER_START_TIMESTAMP,
    PROP_NAMESERVER_ADDR,
    PROP_THREADPOOL_CORE_SIZE,
    ConsumerRunningInfo,
    ConsumeStatus,
    ConsumeType,
    ProcessQueueInfo,
    SubscriptionData,
)
from engine.protocol.codes import MQ_VERSION_NAME

_MIB = 1024 * 1024


def describe(
    options: ConsumerOptions,
    name_servers: Sequence[str],
    started_ms: int,
    subscriptions: Mapping[str, SubscriptionData],
    queues: Mapping[MessageQueue, tuple[ProcessQueue, int | None]],
    rates: dict[str, ConsumeStatus],
) -> ConsumerRunningInfo:
    """`queues` has each queue's window and its offset in memory."""
    properties = {
        "messageModel": options.model.name,
        "consumeFromWhere": options.from_where.name,
        "consumeMessageBatchMaxSize": str(options.consume_batch_size or 1),
        "consumeThreadMax": str(options.threads),
        "pullBatchSize": str(options.pull.batch_size),
        "pullThresholdForQueue": str(options.pull.max_messages_per_queue),
        "maxReconsumeTimes": str(options.max_reconsume_times),
        PROP_NAMESERVER_ADDR: ";".join(name_servers),
        PROP_THREADPOOL_CORE_SIZE: str(options.threads),
        PROP_CONSUME_ORDERLY: "true" if options.orderly else "false",
        PROP_CONSUME_TYPE: ConsumeType.CONSUME_PASSIVELY.name,
        PROP_CLIENT_VERSION: MQ_VERSION_NAME,
        PROP_CONSUMER_START_TIMESTAMP: str(started_ms),
    }
    return ConsumerRunningInfo(
        properties=properties,
        subscription_set=tuple(subscriptions.values()),
        mq_table={queue: _queue_info(process, offset) for queue, (process, offset) in queues.items()},
        status_table=rates,
    )


def _queue_info(process: ProcessQueue, offset: int | None) -> ProcessQueueInfo:
    return ProcessQueueInfo(
        commit_offset=offset if offset is not None else -1,
        cached_msg_min_offset=max(process.lowest_offset, 0),
        cached_msg_max_offset=max(process.highest_offset, 0),
        cached_msg_count=process.message_count,
        cached_msg_size_in_mib=process.size_bytes // _MIB,
        locked=process.locked_at_ms is not None,
        dropped=process.is_dropped,
        last_pull_timestamp=process.last_pulled_ms,
        last_consume_timestamp=process.last_consumed_ms,
    )
