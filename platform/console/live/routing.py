"""Where websockets are served: /ws/v1/. Who may open one is decided in admission.py."""

from __future__ import annotations

from channels.routing import URLRouter
from django.urls import path

from console.live.consumer import LOOK_EVERY_S, LiveConsumer


def websockets(look_every_s: float = LOOK_EVERY_S) -> URLRouter:
    """`look_every_s`: how often rights of open sockets are looked at when nothing says that they changed."""
    return URLRouter([path("ws/v1/", LiveConsumer.as_asgi(look_every_s=look_every_s))])


websocket_application = websockets()
