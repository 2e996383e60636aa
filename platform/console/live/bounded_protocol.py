"""The websocket protocol of the server, for readers that do not read: they are cut off, not waited for.

uvicorn stops sending while a reader's buffer is full, and every way to close waits until it has been emptied,
so a peer that never reads would keep its socket and its task for good, and one that only pings would be owed
more pongs than it ever takes. Here a full buffer also ends listening, and after `too_slow_s` the connection
is aborted, with what was in the buffer. Loop thread only; knows nothing of what is sent.
"""

from __future__ import annotations

import asyncio

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

TOO_SLOW_S = 20.0


class BoundedProtocol(WebSocketsSansIOProtocol):
    too_slow_s = TOO_SLOW_S
    _impatience: asyncio.TimerHandle | None = None

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._impatience is None:
            self._impatience = self.loop.call_later(self.too_slow_s, self._cut_off)
        if not self.read_paused and not self.transport.is_closing():
            self.transport.pause_reading()

    def resume_writing(self) -> None:
        self._be_patient()
        if not self.read_paused and not self.transport.is_closing():
            self.transport.resume_reading()
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        self._be_patient()
        super().connection_lost(exc)

    def _be_patient(self) -> None:
        if self._impatience is not None:
            self._impatience.cancel()
            self._impatience = None

    def _cut_off(self) -> None:
        self.logger.info("%s reads too slowly and is cut off", self.client)
        self.transport.abort()
