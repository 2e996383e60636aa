"""What a broker holds, read over the wire in the form of expected.json (make_release.py writes it)."""

from __future__ import annotations

import hashlib
from typing import Any

from engine.client.blocking import Admin


def messages_of(admin: Admin, topic: str) -> dict[str, list[list[Any]]]:
    """By queue: offset, message id and a hash of the body."""
    found: dict[str, list[list[Any]]] = {}
    for queue in admin.messages.queues(topic):
        low, high = admin.offsets.min_offset(queue), admin.offsets.max_offset(queue)
        rows = [admin.messages.at(queue, offset) for offset in range(low, high)]
        found[f"{queue.broker_name}:{queue.queue_id}"] = [
            [row.queue_offset, row.msg_id, hashlib.sha256(row.body).hexdigest()[:16]] for row in rows
        ]
    return found


def offsets_of(admin: Admin, broker: str) -> dict[str, dict[str, int]]:
    """What groups of applications have committed."""
    known = admin.offsets.all_on_broker(broker)
    return {
        name: {str(queue): at for queue, at in queues.items()}
        for name, queues in known.items()
        if not name.startswith(("%", "RMQ", "rmq", "TRANS", "OFFSET"))
    }
