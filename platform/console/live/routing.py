"""Where websockets are served: /ws/v1/. Who may open one is decided in admission.py."""

from __future__ import annotations

from channels.routing import URLRouter
from django.urls import path

from console.live.consumer import LiveConsumer

websocket_application = URLRouter([path("ws/v1/", LiveConsumer.as_asgi())])
