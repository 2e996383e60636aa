"""What the commands of access control share: each names a broker or a cluster, and does the same at all of
its brokers, slaves too, because Apache's keep users and policies of their own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from engine.admin.commands import BROKER, CLUSTER, Arguments, Facts, Option, Run, command
from engine.client.admin import Admin

Rows = list[tuple[object, ...]]


def access_command(name: str, help: str, *options: Option, example: str) -> Callable[[Run], Run]:
    places = BROKER, CLUSTER
    one_of = tuple(place.name for place in places)
    return command(name, help, *places, *options, example=example, one_of=one_of)


async def every_broker(admin: Admin, arguments: Arguments) -> list[str]:
    """The broker of -b, or all brokers of the cluster of -c."""
    if arguments.brokerAddr:
        return [arguments.brokerAddr]
    return await admin.cluster.brokers(arguments.clusterName)


async def change_everywhere(
    admin: Admin, arguments: Arguments, what: str, change: Callable[[str], Awaitable[None]], **data: object
) -> Facts:
    """One broker after the other; the first that refuses ends it."""
    brokers = await every_broker(admin, arguments)
    for broker in brokers:
        await change(broker)
    return changed(what, brokers, **data)


def changed(what: str, brokers: Sequence[str], **data: object) -> Facts:
    return Facts({"brokers": list(brokers), **data}, f"{what} to {', '.join(brokers)} success")


async def rows_everywhere(
    admin: Admin, arguments: Arguments, rows_of: Callable[[str], Awaitable[Rows]]
) -> Rows:
    return [row for broker in await every_broker(admin, arguments) for row in await rows_of(broker)]
