"""Name servers: configuration, key-value pairs, ordered topics, write permission of brokers."""

from __future__ import annotations

from engine.admin.commands import Arguments, Facts, Option, Result, Table, command, topic_option
from engine.client.admin import Admin
from engine.errors import BadInput

ORDER_NAMESPACE = "ORDER_TOPIC_CONFIG"
_NAMESPACE = Option("s", "namespace", "namespace", "NAME", required=True)
_KEY = Option("k", "key", "key", "KEY", required=True)
_VALUE = Option("v", "value", "value", "VALUE", required=True)
_BROKER_NAME = Option("b", "brokerName", "name of a broker group", "NAME", required=True)


@command("getNamesrvConfig", "Configuration of the name servers")
async def get_namesrv_config(admin: Admin, arguments: Arguments) -> Result:
    rows: list[tuple[object, ...]] = []
    for address in admin.instance.name_servers.addresses:
        config = await admin.name_servers.config(address)
        rows += [(address, key, value) for key, value in sorted(config.items())]
    return Table(("Name server", "Name", "Value"), rows)


@command(
    "updateNamesrvConfig",
    "Change one setting of every name server",
    _KEY,
    _VALUE,
    example="updateNamesrvConfig -k orderMessageEnable -v true",
)
async def update_namesrv_config(admin: Admin, arguments: Arguments) -> Result:
    await admin.name_servers.update_config({arguments.key: arguments.value})
    return Facts({arguments.key: arguments.value}, "update name server config success")


@command(
    "updateKvConfig",
    "Set a key-value pair",
    _NAMESPACE,
    _KEY,
    _VALUE,
    example="updateKvConfig -s app -k colour -v blue",
)
async def update_kv_config(admin: Admin, arguments: Arguments) -> Result:
    await admin.name_servers.put(arguments.namespace, arguments.key, arguments.value)
    return Facts({arguments.key: arguments.value}, "create or update kv config success")


@command(
    "deleteKvConfig", "Delete a key-value pair", _NAMESPACE, _KEY, example="deleteKvConfig -s app -k colour"
)
async def delete_kv_config(admin: Admin, arguments: Arguments) -> Result:
    await admin.name_servers.delete(arguments.namespace, arguments.key)
    return Facts({"deleted": arguments.key}, "delete kv config success")


@command(
    "updateOrderConf",
    "Which queues an ordered topic has: put, get or delete",
    topic_option(),
    Option("m", "method", "put, get or delete", "METHOD", required=True, choices=("put", "get", "delete")),
    Option("v", "orderConf", "broker-a:4;broker-b:4", "CONF"),
    example="updateOrderConf -t orders -m put -v broker-a:4",
)
async def update_order_conf(admin: Admin, arguments: Arguments) -> Result:
    topic = arguments.topic
    if arguments.method == "put":
        if not arguments.orderConf:
            raise BadInput("put needs --orderConf")
        await admin.name_servers.put(ORDER_NAMESPACE, topic, arguments.orderConf)
    elif arguments.method == "delete":
        await admin.name_servers.delete(ORDER_NAMESPACE, topic)
    value = await admin.name_servers.get(ORDER_NAMESPACE, topic)
    return Facts({"topic": topic, "orderConf": value})


@command(
    "wipeWritePerm", "Take write permission from a broker", _BROKER_NAME, example="wipeWritePerm -b broker-a"
)
async def wipe_write_perm(admin: Admin, arguments: Arguments) -> Result:
    counts = await admin.name_servers.wipe_write_perm(arguments.brokerName)
    return Table(("Name server", "Topics"), [(address, count) for address, count in sorted(counts.items())])


@command(
    "addWritePerm", "Give write permission back to a broker", _BROKER_NAME, example="addWritePerm -b broker-a"
)
async def add_write_perm(admin: Admin, arguments: Arguments) -> Result:
    counts = await admin.name_servers.add_write_perm(arguments.brokerName)
    return Table(("Name server", "Topics"), [(address, count) for address, count in sorted(counts.items())])
