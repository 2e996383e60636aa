"""manage.py verify_audit: walk the audit chain; says the first row that does not fit and exits with 1."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from console.core.audit import verify


class Command(BaseCommand):
    help = "Check the audit chain from its first row to its last."

    def handle(self, *args: Any, **options: Any) -> None:
        verdict = verify()
        if verdict.broken_at is not None:
            raise CommandError(f"the chain breaks at row {verdict.broken_at}: {verdict.reason}")
        self.stdout.write(f"{verdict.checked} rows, all in their places")
