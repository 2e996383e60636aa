"""One broker's answer to a collector: 30001 of ours, which says what changed since the last one.

A broker that does not know the request (code 3) is Apache's: see apache_sampling.py. Async, for whoever has a
loop; errors are the caller's to keep.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.client.admin import Admin
from engine.errors import EngineError, PeerError
from engine.protocol.codes import ResponseCode


@dataclass(frozen=True, slots=True)
class Sample:
    is_full: bool
    sections: Mapping[str, Any] = field(default_factory=dict)
    since: str | None = None
    """To be handed back with the next question."""
    version: str = ""
    is_apache: bool = False


async def sample_broker(
    admin: Admin, broker: str, since: str | None, *, with_producers: bool
) -> Sample | None:
    """None: it does not speak our extension."""
    try:
        snapshot = await admin.brokers.snapshot(broker, since)
    except EngineError as error:
        if getattr(error, "code", None) == ResponseCode.REQUEST_CODE_NOT_SUPPORTED:
            return None
        raise
    version = ""
    if snapshot.is_full:
        version = (await admin.brokers.runtime_info(broker)).get("brokerVersionDesc", "")
    sections = dict(snapshot.sections)
    if with_producers:
        sections |= await producers_of(admin, broker)
    return Sample(snapshot.is_full, sections, snapshot.version, version)


async def producers_of(admin: Admin, broker: str) -> dict[str, Any]:
    """328, as a section; none where the broker does not know the question (RocketMQ 4)."""
    try:
        found = await admin.clients.all_producers(broker)
    except PeerError:
        return {}
    return {
        "producers": {
            group: sorted([one.client_id, one.remote_ip, one.language.name, one.version] for one in members)
            for group, members in found.items()
        }
    }


async def broker_members(admin: Admin) -> dict[str, tuple[str, int]]:
    """Brokers by address, as name servers know them: broker name and id."""
    info = await admin.cluster.info()
    return {
        address: (name, member)
        for name, data in info.broker_addr_table.items()
        for member, address in data.broker_addrs.items()
    }
