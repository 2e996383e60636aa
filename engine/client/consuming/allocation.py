"""The allocation strategies that a consumer's options take; the rules are `engine.protocol.allocation`'s."""

from __future__ import annotations

from engine.protocol.allocation import (
    Allocate,
    Queues,
    average,
    average_by_circle,
    consistent_hash,
    fixed,
    machine_room,
    machine_room_nearby,
)

__all__ = [
    "Allocate",
    "Queues",
    "average",
    "average_by_circle",
    "consistent_hash",
    "fixed",
    "machine_room",
    "machine_room_nearby",
]
