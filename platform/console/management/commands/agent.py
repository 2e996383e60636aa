"""`manage.py agent --join TOKEN`: makes this machine a host; without --join it goes on as the host it is."""

from __future__ import annotations

import socket
import sys
from argparse import ArgumentParser
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from clusters.actions.hosts import Ranges
from console import agent
from console.private_files import make_private


class Command(BaseCommand):
    help = "The agent of a host: runs its steps and looks after its processes."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--join", metavar="TOKEN", help="from POST /api/v1/hosts/")
        parser.add_argument(
            "--name", default="", help="whose data root below SIGNALBOX_DATA (default: this machine)"
        )
        parser.add_argument(
            "--address", default="127.0.0.1", help="what brokers of this host bind and tell others"
        )
        parser.add_argument("--data-root", type=Path, help="where processes keep their files")
        parser.add_argument("--control", action="store_true", help="also serve steps of no host, and reports")
        for name, default in asdict(Ranges()).items():
            parser.add_argument(f"--{name.replace('_', '-')}", type=int, default=default)

    def handle(self, *args: Any, **given: Any) -> None:
        name = given["name"] or socket.gethostname().split(".")[0].lower()
        data_root = (given["data_root"] or settings.DATA_ROOT.of_host(name)).absolute()
        try:
            sys.exit(self._serve(data_root, given))
        except agent.AgentError as error:
            print(f"agent: {error}", file=sys.stderr)
            sys.exit(1)

    def _serve(self, data_root: Path, given: dict[str, Any]) -> int:
        try:
            data_root.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise agent.AgentError(f"{data_root} cannot be made: {error.strerror}") from None
        with agent.only_one(data_root):
            make_private(data_root)
            if given["join"]:
                ranges = Ranges(**{name: given[name] for name in asdict(Ranges())})
                agent.join(given["join"], given["address"], data_root, ranges)
            host = agent.recognise(data_root)
            print(f"agent of {host.name}: {host.address}, files in {data_root}", flush=True)
            return agent.serve(host, serves_control=given["control"])
