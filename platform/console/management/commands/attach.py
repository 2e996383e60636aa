"""manage.py attach NAME ADDRESS…: attach a running cluster by its name servers, from the console's machine.

The same as POST /api/v1/clusters/ does for one that is attached, without a session: for the first minutes of
an installation (docker/compose.yaml). A cluster of that name that is there already is left as it is.
"""

from __future__ import annotations

import os
import time
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from clusters.actions.attachments import AttachRequest, do_attach_cluster, plan_attach
from clusters.selectors.clusters import living
from console.core.actors import Actor
from console.core.problems import Problem

_ASK_AGAIN_S = 1.0
SECRET = "SIGNALBOX_ATTACH_SECRET_KEY"


class Command(BaseCommand):
    help = "Attach a running cluster by the addresses of its name servers."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name")
        parser.add_argument("address", nargs="+", help="HOST:PORT of a name server")
        parser.add_argument("--access-key", default="", help=f"with its secret in {SECRET}")
        parser.add_argument("--tls", action="store_true")
        parser.add_argument("--wait", type=float, default=0, help="seconds to wait until it answers")

    def handle(self, *args: Any, **options: Any) -> None:
        if living().filter(name=options["name"]).exists():
            self.stdout.write(f"{options['name']} is there already")
            return
        request = AttachRequest(
            name=options["name"],
            name_servers=tuple(options["address"]),
            access_key=options["access_key"],
            secret_key=os.environ.get(SECRET, ""),
            uses_tls=options["tls"],
        )
        try:
            cluster = self._attach(request, time.monotonic() + options["wait"])
        except Problem as problem:
            raise CommandError(problem.detail) from None
        self.stdout.write(f"{cluster.name}: brokers {', '.join(cluster.broker_addresses)}")

    def _attach(self, request: AttachRequest, until: float) -> Any:
        while True:
            try:
                plan = plan_attach(request)
                return do_attach_cluster(request, plan, actor=Actor.system("attach"), now=timezone.now())
            except Problem as problem:
                if problem.status < 500 or time.monotonic() > until:
                    raise
            time.sleep(_ASK_AGAIN_S)
