"""`manage.py down`: ends a running `manage.py up`, then the engine processes of the host `local`."""

from __future__ import annotations

import fcntl
import os
import signal
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand
from django.db import DatabaseError
from django.utils import timezone

from clusters.models import Broker, Host
from clusters.provisioning import driver, running
from clusters.provisioning.driver import DriverError, Presence
from clusters.provisioning.inventory import Process, processes_on, spec_of
from console.running_up import PID_FILE
from console.setting_up import HOST


class Command(BaseCommand):
    help = "Stop `manage.py up` and the brokers and name servers that it made on this machine."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--data", type=Path, help="the data root (SIGNALBOX_DATA)")

    def handle(self, *args: Any, **given: Any) -> None:
        was_up = end_up(settings.DATA_ROOT.console / PID_FILE)
        stopped, failed = stop_processes()
        if failed:
            sys.exit(1)
        if not was_up and not stopped:
            print("make down: nothing is up", file=sys.stderr)
            sys.exit(1)
        print("stopped" + (f": {', '.join(stopped)}" if stopped else ""))


def end_up(path: Path) -> bool:
    """Whether there was one."""
    if not path.exists():
        return False
    with path.open("r+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return False
        except BlockingIOError:
            os.kill(int(file.read()), signal.SIGTERM)
            fcntl.flock(file, fcntl.LOCK_EX)
            return True


def stop_processes() -> tuple[list[str], bool]:
    """Brokers first, while there is a name server to unregister from; slaves before masters."""
    try:
        host = Host.objects.filter(name=HOST).first()
        processes = [] if host is None else list(processes_on(host.pk))
    except DatabaseError:
        # No tables: nothing was ever set up here.
        return [], False
    stopped, failed = [], False
    for process in sorted(processes, key=_order):
        if driver.look(spec_of(process)).presence is Presence.ABSENT:
            continue
        try:
            running.stop(process, timezone.now(), why="make down")
            stopped.append(process.label)
        except DriverError as error:
            print(f"make down: {error}", file=sys.stderr)
            failed = True
    return stopped, failed


def _order(process: Process) -> int:
    if not isinstance(process, Broker):
        return 2
    return 1 if process.is_master else 0
