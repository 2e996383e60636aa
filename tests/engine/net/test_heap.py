"""When the C library is asked to give memory back: after a peak, and not again and again."""

from __future__ import annotations

import asyncio

from engine.net.heap import EVERY_S, PEAK_BYTES, WORTH_BYTES, Heap, held_bytes


async def test_what_was_freed_is_given_back_once_for_each_peak():
    trims: list[int] = []
    held = 1_000_000
    heap = Heap(asyncio.get_running_loop(), lambda: held, lambda: trims.append(held))
    now = 0.0

    async def pass_time() -> None:
        nonlocal now
        now += EVERY_S
        heap.note(now)
        await asyncio.sleep(0.02)

    await pass_time()
    assert not trims
    held += 2 * WORTH_BYTES
    await pass_time()
    heap.note(now + 0.1)
    assert len(trims) == 1, "at most every few seconds"
    for _ in range(4):
        await pass_time()
    assert len(trims) == 1, "what is still held after a trim is in use"
    held += 2 * WORTH_BYTES
    await pass_time()
    assert len(trims) == 2


async def test_when_connections_let_go_the_memory_is_given_back():
    trims: list[int] = []
    emptied: list[int] = []
    heap = Heap(asyncio.get_running_loop(), lambda: 0, lambda: trims.append(1), lambda: emptied.append(1))
    for number, held in enumerate((0, PEAK_BYTES, 2 * PEAK_BYTES, 2 * PEAK_BYTES, PEAK_BYTES, 0, 0)):
        heap.note(EVERY_S * (number + 1), held)
        await asyncio.sleep(0.02)
    assert len(trims) == 2, "once it had fallen to half, and once more with the rest"
    assert len(emptied) == 2, "and so often Python's free lists are emptied"


def test_memory_that_is_no_files_is_told():
    assert held_bytes() > 1_000_000
