"""How the console is served: one uvicorn process for REST, pages and websockets, with its limits.

`manage.py up` runs this command; whoever serves the console in another way must keep the limits of websockets
(docs/live.md) and `--no-proxy-headers`: uvicorn would believe any X-Forwarded-For from loopback, while the
application itself believes the proxies that SIGNALBOX_TRUSTED_PROXIES names (console/trusted_proxies.py).
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
        "--no-proxy-headers",
        "--no-access-log",
    ]
