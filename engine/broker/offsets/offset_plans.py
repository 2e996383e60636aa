"""Which offsets follow from which: the two computations behind administrators' resets. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

NOT_COMPARABLE = 0x7FFFFFFFFFFFFFFF


def legacy_reset_offset(committed: int | None, wanted: int, is_force: bool) -> int:
    """Without force a client is only ever sent back, never forward over what it has not consumed."""
    return wanted if is_force or committed is None or wanted < committed else committed


def correction_offsets(groups: Iterable[Mapping[int, int]], compared: Mapping[int, int]) -> dict[int, int]:
    """Queue to the smallest offset of all groups; who is behind all others has none to correct to."""
    smallest: dict[int, int] = {}
    for queues in groups:
        for queue_id, queue_offset in queues.items():
            if queue_offset >= 0:
                smallest[queue_id] = min(queue_offset, smallest.get(queue_id, NOT_COMPARABLE))
    for queue_id, queue_offset in compared.items():
        if smallest.get(queue_id, NOT_COMPARABLE) > queue_offset:
            smallest[queue_id] = NOT_COMPARABLE
    return smallest
