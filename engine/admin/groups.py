"""Configuration of consumer groups: creation, changes, deletion, pull or pop."""

from __future__ import annotations

from engine.admin.argument_types import id_number, truth, whole_number
from engine.admin.broker_targets import broker_command, change_brokers, chosen_masters
from engine.admin.commands import Arguments, Option, command, group_option
from engine.admin.results import Facts, Result, Row, Table
from engine.client import Admin
from engine.errors import EngineError, NotFound
from engine.protocol.bodies.groups import MessageRequestMode, SubscriptionGroupConfig
from engine.protocol.codes import ResponseCode
from engine.protocol.names import dlq_topic, retry_topic

_SETTINGS = (
    Option("s", "consumeEnable", "the group may consume (true)", "BOOL", truth, True),
    Option("m", "consumeFromMinEnable", "start at the oldest message (false)", "BOOL", truth, False),
    Option("d", "consumeBroadcastEnable", "the group may broadcast (false)", "BOOL", truth, False),
    Option("o", "consumeMessageOrderly", "consume in order (false)", "BOOL", truth, False),
    Option("q", "retryQueueNums", "queues of its retry topic (1)", "N", whole_number, 1),
    Option("r", "retryMaxTimes", "retries before a message is a dead letter (16)", "N", whole_number, 16),
    Option("i", "brokerId", "broker to read from (0)", "ID", whole_number, 0),
    Option("w", "whichBrokerWhenConsumeSlowly", "broker to read from when slow (1)", "ID", whole_number, 1),
)
"""Options that are called as the members of the configuration on the wire are."""
_NOTIFY = Option("a", "notifyConsumerIdsChanged", "notify members of changes (true)", "BOOL", truth, True)


@broker_command("updateSubGroup", "Create a consumer group or change it", group_option(), *_SETTINGS, _NOTIFY)
async def update_sub_group(admin: Admin, arguments: Arguments) -> Result:
    name = arguments.groupName
    settings = {option.name: getattr(arguments, option.name) for option in _SETTINGS}
    settings["notifyConsumerIdsChangedEnable"] = arguments.notifyConsumerIdsChanged
    config = SubscriptionGroupConfig.from_json({"groupName": name, **settings})
    brokers, what = await chosen_masters(admin, arguments), f"create subscription group {name}"
    return await change_brokers(
        brokers, what, admin.groups.create, config, group=name, config=config.to_json()
    )


@broker_command(
    "deleteSubGroup",
    "Delete a consumer group with its retry and dead-letter topics",
    group_option(),
    Option("r", "removeOffset", "delete its offsets too (true)", "BOOL", truth, True),
)
async def delete_sub_group(admin: Admin, arguments: Arguments) -> Result:
    group = arguments.groupName
    topics = (retry_topic(group), dlq_topic(group))
    brokers = await chosen_masters(admin, arguments)
    for broker in brokers:
        await admin.groups.delete(broker, group, clean_offset=arguments.removeOffset)
        for topic in topics:
            await admin.topics.delete_on_broker(broker, topic)
    for topic in topics if arguments.clusterName else ():
        await admin.topics.delete_in_name_servers(topic, arguments.clusterName)
    data = {"group": group, "brokers": brokers, "offsetsRemoved": arguments.removeOffset}
    return Facts(data, f"delete subscription group [{group}] from {', '.join(brokers)} success")


@broker_command(
    "setConsumeMode",
    "Whether the clients of a group pull or pop a topic",
    Option("t", "topicName", "topic name", "TOPIC", required=True),
    group_option(),
    Option("m", "mode", "PULL or POP", "MODE", required=True, choices=("PULL", "POP")),
    Option("q", "popShareQueueNum", "queues shared when popping (0)", "N", id_number, 0),
)
async def set_consume_mode(admin: Admin, arguments: Arguments) -> Result:
    group, topic, mode = arguments.groupName, arguments.topicName, MessageRequestMode[arguments.mode]
    values = (group, topic, mode, arguments.popShareQueueNum)
    data = {"group": group, "topic": topic, "mode": mode.name}
    brokers = await chosen_masters(admin, arguments)
    return await change_brokers(brokers, "set consume mode", admin.groups.set_request_mode, *values, **data)


@command("getConsumerConfig", "Configuration of a consumer group on every broker", group_option())
async def get_consumer_config(admin: Admin, arguments: Arguments) -> Result:
    group = arguments.groupName
    rows: list[Row] = []
    for broker in await admin.cluster.masters():
        try:
            config = (await admin.groups.configs(broker)).get(group)
        except EngineError as error:
            rows.append((broker, "unknown", error.text))
            continue
        if config is not None:
            rows += [(broker, *item) for item in sorted(config.to_json().items())]
    if not rows:
        raise NotFound(f"no broker has the group {group}", code=ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST)
    return Table(("Broker", "Name", "Value"), rows)
