"""A master gives way to the member that shall follow it: nothing is written meanwhile, so it can catch up.

Each request counts once: whoever recorded one cannot stop the writes with it again. What stops the writes,
and what takes them up again when nobody took over, is `replication`'s.
"""

from __future__ import annotations

import asyncio

from engine.broker.replication.master_task import Mastering
from engine.errors import Refused
from engine.store.message_store import MessageStore

MAX_HAND_OVER_MS = 10_000
_LOOK_S = 0.01


def note_request(mastering: Mastering, member_id: int, nonce: int) -> None:
    """Refuse what was obeyed before, and an heir that does not follow."""
    if nonce in mastering.handed_over:
        raise Refused("this request to hand over was obeyed before")
    if member_id not in mastering.links:
        raise Refused(f"member {member_id} does not follow this master: it cannot take over")
    mastering.handed_over.add(nonce)


async def wait_for_heir(mastering: Mastering, store: MessageStore, member_id: int, timeout_ms: int) -> None:
    """Returns when the member has all of this log."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + timeout_ms / 1000
    while loop.time() < deadline:
        link = mastering.links.get(member_id)
        if link is not None and link.acknowledged_offset >= store.log.max_offset:
            return
        await asyncio.sleep(_LOOK_S)
    raise Refused(f"member {member_id} did not catch up within {timeout_ms} ms")
