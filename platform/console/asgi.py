"""The ASGI application: REST and pages by Django, live updates by Channels, on one port."""

from __future__ import annotations

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")

from django.core.asgi import get_asgi_application

django_application = get_asgi_application()

# After Django is set up: what they import are models.
from channels.routing import ProtocolTypeRouter  # noqa: E402
from django.conf import settings  # noqa: E402

from console.garbage import set_aside_what_is_loaded  # noqa: E402
from console.live.routing import websocket_application  # noqa: E402
from console.trusted_proxies import ProxyHeaders  # noqa: E402

application = ProxyHeaders(
    ProtocolTypeRouter({"http": django_application, "websocket": websocket_application}),
    settings.TRUSTED_PROXIES,
    is_tls=settings.IS_TLS,
)
set_aside_what_is_loaded()
