"""Consumer groups: creating, changing, deleting, pull or pop."""

from __future__ import annotations

from engine.admin.commands import (
    BROKER,
    CLUSTER,
    Arguments,
    Facts,
    Option,
    Result,
    Table,
    chosen_brokers,
    command,
    group_option,
    truth,
    whole_number,
)
from engine.client.admin import Admin
from engine.errors import EngineError
from engine.protocol.bodies.groups import SubscriptionGroupConfig
from engine.protocol.bodies.locks import MessageRequestMode
from engine.protocol.names import dlq_topic, retry_topic


@command(
    "updateSubGroup",
    "Create a consumer group or change it",
    BROKER,
    CLUSTER,
    group_option(),
    Option("s", "consumeEnable", "may it consume? (true)", "BOOL", truth, True),
    Option("m", "consumeFromMinEnable", "start from the oldest? (false)", "BOOL", truth, False),
    Option("d", "consumeBroadcastEnable", "may it broadcast? (false)", "BOOL", truth, False),
    Option("o", "consumeMessageOrderly", "orderly? (false)", "BOOL", truth, False),
    Option("q", "retryQueueNums", "queues of its retry topic (1)", "N", whole_number, 1),
    Option("r", "retryMaxTimes", "tries before the dead letters (16)", "N", whole_number, 16),
    Option("i", "brokerId", "broker to read from (0)", "ID", whole_number, 0),
    Option("w", "whichBrokerWhenConsumeSlowly", "broker to read from when slow (1)", "ID", whole_number, 1),
    Option("a", "notifyConsumerIdsChanged", "tell members of changes? (true)", "BOOL", truth, True),
    example="updateSubGroup -c DefaultCluster -g billing",
    one_of=("brokerAddr", "clusterName"),
)
async def update_sub_group(admin: Admin, arguments: Arguments) -> Result:
    config = SubscriptionGroupConfig(
        group_name=arguments.groupName,
        consume_enable=arguments.consumeEnable,
        consume_from_min_enable=arguments.consumeFromMinEnable,
        consume_broadcast_enable=arguments.consumeBroadcastEnable,
        consume_message_orderly=arguments.consumeMessageOrderly,
        retry_queue_nums=arguments.retryQueueNums,
        retry_max_times=arguments.retryMaxTimes,
        broker_id=arguments.brokerId,
        which_broker_when_consume_slowly=arguments.whichBrokerWhenConsumeSlowly,
        notify_consumer_ids_changed_enable=arguments.notifyConsumerIdsChanged,
    )
    brokers = await chosen_brokers(admin, arguments)
    for broker in brokers:
        await admin.groups.create(broker, config)
    data = {"group": config.group_name, "brokers": brokers, "config": config.to_json()}
    return Facts(data, f"create subscription group {config.group_name} to {', '.join(brokers)} success")


@command(
    "deleteSubGroup",
    "Delete a consumer group with its retry and dead-letter topics",
    BROKER,
    CLUSTER,
    group_option(),
    Option("r", "removeOffset", "forget its offsets too", "BOOL", truth, True),
    example="deleteSubGroup -c DefaultCluster -g billing",
    one_of=("brokerAddr", "clusterName"),
)
async def delete_sub_group(admin: Admin, arguments: Arguments) -> Result:
    group = arguments.groupName
    brokers = await chosen_brokers(admin, arguments)
    for broker in brokers:
        await admin.groups.delete(broker, group, clean_offset=arguments.removeOffset)
        for topic in (retry_topic(group), dlq_topic(group)):
            await admin.topics.delete_on_broker(broker, topic)
    if arguments.clusterName:
        for topic in (retry_topic(group), dlq_topic(group)):
            await admin.topics.delete_in_name_servers(topic, arguments.clusterName)
    data = {"group": group, "brokers": brokers, "offsetsRemoved": arguments.removeOffset}
    return Facts(data, f"delete subscription group [{group}] from {', '.join(brokers)} success")


@command(
    "setConsumeMode",
    "Whether a group's clients pull or pop a topic",
    BROKER,
    CLUSTER,
    Option("t", "topicName", "topic name", "TOPIC", required=True),
    group_option(),
    Option("m", "mode", "PULL or POP", "MODE", required=True, choices=("PULL", "POP")),
    Option("q", "popShareQueueNum", "queues shared when popping", "N", whole_number, 0),
    example="setConsumeMode -c DefaultCluster -t orders -g billing -m PULL",
    one_of=("brokerAddr", "clusterName"),
)
async def set_consume_mode(admin: Admin, arguments: Arguments) -> Result:
    mode = MessageRequestMode[arguments.mode]
    brokers = await chosen_brokers(admin, arguments)
    for broker in brokers:
        await admin.groups.set_request_mode(
            broker, arguments.groupName, arguments.topicName, mode, arguments.popShareQueueNum
        )
    data = {"group": arguments.groupName, "topic": arguments.topicName, "mode": mode.name, "brokers": brokers}
    return Facts(data, f"set consume mode to {', '.join(brokers)} success")


@command(
    "getConsumerConfig",
    "A consumer group's configuration on every broker",
    group_option(),
    example="getConsumerConfig -g billing",
)
async def get_consumer_config(admin: Admin, arguments: Arguments) -> Result:
    rows: list[tuple[object, ...]] = []
    for broker in await admin.cluster.masters():
        try:
            config = (await admin.groups.configs(broker)).get(arguments.groupName)
        except EngineError as error:
            rows.append((broker, "unknown", error.text))
            continue
        if config is not None:
            rows += [(broker, key, value) for key, value in sorted(config.to_json().items())]
    return Table(("Broker", "Name", "Value"), rows)
