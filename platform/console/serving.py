"""How the console is served: one uvicorn process for REST, pages and websockets, with its limits.

`manage.py up` runs this command; whoever serves the console in another way must keep the limits of websockets
(docs/live.md).
"""

from __future__ import annotations

from pathlib import Path

APPLICATION = "console.asgi:application"
PROTOCOL = "console.live.bounded_protocol:BoundedProtocol"
LARGEST_FRAME = 131_072
"""Twice what a message may have: larger ones are refused (1009) before they are in memory."""
_PLATFORM = Path(__file__).resolve().parents[1]
_STOP_S = 3


def command(
    python: str, host: str, port: int, *, application: str = APPLICATION, protocol: str = PROTOCOL
) -> list[str]:
    return [
        *(python, "-m", "uvicorn", application),
        *("--host", host),
        *("--port", str(port)),
        *("--app-dir", str(_PLATFORM)),
        *("--ws", protocol),
        *("--ws-max-size", str(LARGEST_FRAME)),
        *("--ws-max-queue", "8"),
        *("--timeout-graceful-shutdown", str(_STOP_S)),
        "--no-access-log",
    ]
