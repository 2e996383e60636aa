"""Name servers: configuration, key-value pairs, ordered topics, write permission of brokers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from engine.admin.arguments import queue_counts
from engine.admin.commands import Arguments, Option, command, topic_option
from engine.admin.results import Facts, Result, Table
from engine.client import Admin
from engine.client.admin.name_servers import ORDER_TOPICS
from engine.errors import BadInput

_NAMESPACE = Option("s", "namespace", "namespace", "NAMESPACE", required=True)
_KEY = Option("k", "key", "key", "KEY", required=True)
_VALUE = Option("v", "value", "value", "VALUE", required=True)
_BROKER_NAME = Option("b", "brokerName", "name of a broker group", "BROKER_NAME", required=True)


@command("getNamesrvConfig", "Configuration of the name servers")
async def get_namesrv_config(admin: Admin, arguments: Arguments) -> Result:
    found = {address: await admin.name_servers.config(address) for address in admin.name_servers.addresses}
    rows = [(address, *item) for address, config in found.items() for item in sorted(config.items())]
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


@command("updateKvConfig", "Set a key-value pair", _NAMESPACE, _KEY, _VALUE)
async def update_kv_config(admin: Admin, arguments: Arguments) -> Result:
    await admin.name_servers.put(arguments.namespace, arguments.key, arguments.value)
    return Facts({arguments.key: arguments.value}, "create or update kv config success")


@command("deleteKvConfig", "Delete a key-value pair", _NAMESPACE, _KEY)
async def delete_kv_config(admin: Admin, arguments: Arguments) -> Result:
    await admin.name_servers.delete(arguments.namespace, arguments.key)
    return Facts({"deleted": arguments.key}, "delete kv config success")


@command(
    "updateOrderConf",
    "Set, show or delete the queues of an ordered topic",
    topic_option(),
    Option("m", "method", "put, get or delete", "METHOD", required=True, choices=("put", "get", "delete")),
    Option("v", "orderConf", "queues by broker: broker-a:4;broker-b:4", "CONF", queue_counts),
    example="updateOrderConf -t orders -m put -v broker-a:4",
)
async def update_order_conf(admin: Admin, arguments: Arguments) -> Result:
    topic = arguments.topic
    if arguments.method == "put":
        if not arguments.orderConf:
            raise BadInput("put needs --orderConf")
        await admin.name_servers.put(ORDER_TOPICS, topic, arguments.orderConf)
    elif arguments.method == "delete":
        await admin.name_servers.delete(ORDER_TOPICS, topic)
    return Facts({"topic": topic, "orderConf": await admin.name_servers.get(ORDER_TOPICS, topic)})


@command("wipeWritePerm", "Take write permission from a broker", _BROKER_NAME)
async def wipe_write_perm(admin: Admin, arguments: Arguments) -> Result:
    return await _change_permission(admin, arguments.brokerName, admin.name_servers.wipe_write_perm)


@command("addWritePerm", "Give write permission back to a broker", _BROKER_NAME)
async def add_write_perm(admin: Admin, arguments: Arguments) -> Result:
    return await _change_permission(admin, arguments.brokerName, admin.name_servers.add_write_perm)


async def _change_permission(
    admin: Admin, broker_name: str, change: Callable[[str], Awaitable[dict[str, int]]]
) -> Table:
    """A name server answers 0 topics for a broker that it does not know, so the name is checked then."""
    counts = await change(broker_name)
    if not any(counts.values()):
        await admin.cluster.address_of(broker_name)
    return Table(("Name server", "Topics"), sorted(counts.items()))
