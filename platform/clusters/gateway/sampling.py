"""One broker's answer to a collector: 30001 of ours, which says what changed since the last one.

A broker that does not know the request (code 3) is Apache's: see apache_sampling.py. Async, for whoever has a
loop; errors are the caller's to keep.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.client.admin import Admin
from engine.errors import EngineError
from engine.protocol.codes import ResponseCode


@dataclass(frozen=True, slots=True)
class Sample:
    is_full: bool
    sections: Mapping[str, Any] = field(default_factory=dict)
    since: str | None = None
    """To be handed back with the next question."""
    version: str = ""
    is_apache: bool = False


async def sample_broker(admin: Admin, broker: str, since: str | None) -> Sample | None:
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
    return Sample(snapshot.is_full, snapshot.sections, snapshot.version, version)


async def broker_members(admin: Admin) -> dict[str, tuple[str, int]]:
    """Brokers by address, as name servers know them: broker name and id."""
    info = await admin.cluster.info()
    return {
        address: (name, member)
        for name, data in info.broker_addr_table.items()
        for member, address in data.broker_addrs.items()
    }
