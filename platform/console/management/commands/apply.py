"""`manage.py apply FILE`: a declarative document from the command line, by whoever has the console's machine.

Exit code 0: done, or nothing to do; 1: refused or failed; 2: --plan or --drift found something to do.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone
from rest_framework.exceptions import ValidationError

from clusters.actions.document_plans import NONE, Change
from clusters.actions.documents import do_apply_document, document_drift, plan_document
from clusters.api.document_shapes import checked_document
from clusters.models import Operation
from clusters.provisioning.executor import run_open_steps
from clusters.selectors.document_text import parse_document
from console.core.actors import Actor
from console.core.problem_answers import describe
from console.core.problems import Problem

HAS_CHANGES = 2
_LOOK_S = 0.5


class Command(BaseCommand):
    help = "Apply a declarative document (YAML or JSON), or show its plan or drift."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "file", help="a file, or - for standard input; with --drift a document's name will do"
        )
        what = parser.add_mutually_exclusive_group()
        what.add_argument("--plan", action="store_true", help="only say what would be done")
        what.add_argument("--drift", action="store_true", help="what differs from what was applied last")
        parser.add_argument("--timeout", type=float, default=600.0, help="seconds to wait for operations")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            self._handle(**options)
        except (Problem, ValidationError) as error:
            body = describe(error)
            lines = [f"{row['field']}: {row['detail']}" for row in body.get("errors", [])]
            raise CommandError("\n".join(lines) or body["detail"]) from None

    def _handle(self, **options: Any) -> None:
        now = timezone.now()
        if options["drift"]:
            self._show(document_drift(self._name(options["file"]), now=now)[1], is_question=True)
            return
        document = checked_document(parse_document(self._text(options["file"])))
        if options["plan"]:
            self._show(plan_document(document, now=now), is_question=True)
            return
        changes, operations = do_apply_document(document, actor=Actor.system("apply"), now=now)
        self._show(changes, is_question=False)
        self._wait([operation.pk for operation in operations], options["timeout"])

    def _text(self, name: str) -> bytes:
        if name == "-":
            return sys.stdin.buffer.read()
        try:
            return Path(name).read_bytes()
        except OSError as error:
            raise CommandError(f"{name}: {error.strerror}") from None

    def _name(self, given: str) -> str:
        if given != "-" and not Path(given).exists():
            return given
        return str(checked_document(parse_document(self._text(given)))["name"])

    def _show(self, changes: list[Change], *, is_question: bool) -> None:
        found = [change for change in changes if change.change != NONE]
        for change in found:
            self.stdout.write(f"{change.cluster}: {change.sentence}")
            for diff in change.diffs:
                where = f"{diff['broker']} " if diff["broker"] else ""
                self.stdout.write(
                    f"    {where}{diff['field'] or change.name}: {diff['now']} -> {diff['then']}"
                )
            if change.note:
                self.stdout.write(f"    {change.note}")
        if not found:
            self.stdout.write("nothing to do")
        elif is_question:
            sys.exit(HAS_CHANGES)

    def _wait(self, ids: list[Any], timeout_s: float) -> None:
        """Steps of no host are done here as well, so that a document can be applied while no worker runs."""
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            run_open_steps(None, "manage.py apply")
            rows = list(Operation.objects.filter(pk__in=ids))
            if all(row.state not in (Operation.State.RUNNING,) for row in rows):
                self._tell(rows)
                return
            time.sleep(_LOOK_S)
        raise CommandError("the operations are still under way: look at them in the console")

    def _tell(self, rows: list[Operation]) -> None:
        for row in rows:
            self.stdout.write(f"{row.summary}: {row.state} {row.error}".rstrip())
        if any(row.state == Operation.State.FAILED for row in rows):
            raise CommandError("not everything was done")
