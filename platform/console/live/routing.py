"""Where websockets are served: /ws/v1/, for pages of our own origin and people who are signed in."""

from __future__ import annotations

from channels.auth import AuthMiddlewareStack
from channels.routing import URLRouter
from channels.security.websocket import AllowedHostsOriginValidator

websocket_application = AllowedHostsOriginValidator(AuthMiddlewareStack(URLRouter([])))
