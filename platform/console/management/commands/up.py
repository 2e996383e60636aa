"""`manage.py up`: the whole platform on this machine, in the foreground, until Ctrl-C.

On a fresh machine it makes what is missing; a second one continues. Ctrl-C stops the console's parts and
leaves brokers running; `manage.py down` stops those, too.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from console.running_up import Up, UpError, UpOptions


class Command(BaseCommand):
    help = "Run the platform on this machine; Ctrl-C stops it and leaves brokers running."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--data", type=Path, help="the data root (SIGNALBOX_DATA)")
        parser.add_argument("--host", default="127.0.0.1", help="where the console listens")
        parser.add_argument("--port", type=int, default=8161, help="the console's port")
        parser.add_argument(
            "--address", default="127.0.0.1", help="what the first cluster binds and tells others"
        )
        parser.add_argument("--namesrv-port", type=int, default=9876, help="of the first cluster")
        parser.add_argument("--broker-port", type=int, default=10911, help="of its first broker")
        parser.add_argument("--no-cluster", action="store_true", help="make no first cluster")

    def handle(self, *args: Any, **given: Any) -> None:
        options = UpOptions(
            host=given["host"],
            port=given["port"],
            address=given["address"],
            namesrv_port=given["namesrv_port"],
            broker_port=given["broker_port"],
            makes_cluster=not given["no_cluster"],
        )
        try:
            Up(options).run()
        except UpError as error:
            print(f"make up: {error}", file=sys.stderr, flush=True)
            sys.exit(1)
