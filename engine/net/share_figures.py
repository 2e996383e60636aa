"""What `shares` shows to people: the same figures under the same names in a broker and a name server."""

from __future__ import annotations

from collections.abc import Iterator

from engine.net.shares import Shares

CLOSED = "signalbox_memory_closed_connections"
CLOSED_TEXT = "Connections closed because they made this process hold too much"


def share_gauges(shares: Shares) -> Iterator[tuple[str, str, float]]:
    """Name, explanation, value."""
    intake, outgo = shares.intake, shares.outgo
    yield "signalbox_receiving_bytes", "Memory taken for large frames and waiting requests", intake.held_bytes
    yield "signalbox_receiving_waits", "Connections whose large frame waits for memory", intake.waiting_count
    yield "signalbox_sending_bytes", "Answers that wait because their peers do not read", outgo.held_bytes
    yield "signalbox_sending_waits", "Connections with such answers", outgo.waiting_count
    yield "signalbox_serving_waits", "Connections whose requests wait for their turn", len(shares.turns)


def closings(shares: Shares) -> Iterator[tuple[str, int]]:
    """Which budget, and how many connections were closed for it so far."""
    yield "receiving", shares.closings_receiving.count
    yield "sending", shares.closings_sending.count
