"""manage.py collect: the collector, until it is told to stop."""

from __future__ import annotations

import asyncio
import signal
from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from clusters.collecting.collector import Collector, holder_name
from console.garbage import make_room_for_tables


class Command(BaseCommand):
    help = "Collect live figures of all clusters; several may run, each cluster is collected by one."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        make_room_for_tables()
        asyncio.run(_collect(), debug=False)


async def _collect() -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    print("collecting", flush=True)
    await Collector(holder_name(), timezone.now).run(stop)
