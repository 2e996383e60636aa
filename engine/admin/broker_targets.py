"""Which brokers a command is for: one by address (-b), or those of a cluster (-c).

Changes go to one broker after the other; the first that refuses ends the command.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from engine.admin.commands import Arguments, Option, Run, address_option, command
from engine.admin.results import Facts
from engine.client import Admin

BROKER = address_option("b", "brokerAddr", "address of one broker", required=False)
CLUSTER = Option("c", "clusterName", "the brokers of this cluster", "CLUSTER")
COPY_OPTIONS = (
    address_option("f", "fromBroker", "broker to copy from"),
    address_option("t", "toBroker", "broker to copy to"),
)


def broker_command(name: str, help: str, *options: Option, example: str = "") -> Callable[[Run], Run]:
    """A command that needs -b or -c."""
    one_of = (BROKER.name, CLUSTER.name)
    return command(name, help, BROKER, CLUSTER, *options, example=example, one_of=one_of)


async def chosen_masters(admin: Admin, arguments: Arguments) -> list[str]:
    """The broker of -b, or the masters of the cluster of -c."""
    if arguments.brokerAddr:
        return [arguments.brokerAddr]
    return await admin.cluster.masters(arguments.clusterName)


async def chosen_brokers(admin: Admin, arguments: Arguments) -> list[str]:
    """The broker of -b, or all brokers of the cluster of -c, slaves included: Apache's slaves have users and
    policies of their own."""
    if arguments.brokerAddr:
        return [arguments.brokerAddr]
    return await admin.cluster.brokers(arguments.clusterName)


async def change_brokers(
    brokers: list[str],
    what: str,
    change: Callable[..., Awaitable[None]],
    *values: object,
    **data: object,
) -> Facts:
    """`change(broker, *values)` at each; `data` are members of the JSON beside the brokers."""
    for broker in brokers:
        await change(broker, *values)
    return Facts({"brokers": brokers, **data}, f"{what} to {', '.join(brokers)} success")
