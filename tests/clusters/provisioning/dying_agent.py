"""`manage.py agent` that kills itself with -9 inside every step of one kind of operation, twice in a restart.

At the worst moments: when a process is stopped and not started yet, and when everything is done and nothing
is noted. Each of these deaths happens once: it leaves a file in the folder DEATHS, named after the step and
the moment. DIES_IN is the kind of the operation, with `undo` in front when it dies on the way back.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
STOPPED, DONE = "stopped", "done"


def main() -> None:
    sys.path[:0] = [str(ROOT / "platform"), str(ROOT)]
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
    from console.first_start import prepare

    prepare(sys.argv[1:])
    import django

    django.setup()
    _arm()
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)


def _arm() -> None:
    from clusters.provisioning import steps
    from clusters.provisioning.kinds import processes

    finish, stop = steps.finish, processes._stop

    def finish_or_die(held, result, now):  # type: ignore[no-untyped-def]
        _die_once(held, DONE)
        finish(held, result, now)

    def stop_and_die(ctx, process):  # type: ignore[no-untyped-def]
        stop(ctx, process)
        _die_once(ctx.held, STOPPED)

    steps.finish, processes._stop = finish_or_die, stop_and_die


def _die_once(held, moment: str) -> None:  # type: ignore[no-untyped-def]
    from clusters.models import Step

    step = Step.objects.select_related("operation").get(pk=held.step_id)
    way = "undo " if step.is_undo else ""
    if f"{way}{step.operation.kind}" != os.environ["DIES_IN"]:
        return
    note = Path(os.environ["DEATHS"], f"{step.pk:06d} {moment} {step.kind}")
    try:
        os.close(os.open(note, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main()
