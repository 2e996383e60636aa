"""The console's own application and protocol with shorter waits, for tests that cannot wait a minute."""

from __future__ import annotations

from channels.routing import ProtocolTypeRouter

from console.asgi import django_application
from console.live.bounded_protocol import BoundedProtocol
from console.live.routing import websockets

LOOK_EVERY_S = 0.5
TOO_SLOW_S = 2.0

application = ProtocolTypeRouter({"http": django_application, "websocket": websockets(LOOK_EVERY_S)})


class HurriedProtocol(BoundedProtocol):
    too_slow_s = TOO_SLOW_S
