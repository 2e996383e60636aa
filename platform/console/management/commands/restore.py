"""manage.py restore FILE: a backup back into an empty, migrated database; with --force into any."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from console.backups import keeping
from console.backups.archive import BadArchive
from console.backups.passphrases import VARIABLE, read_passphrase
from console.core.audit import verify


class Command(BaseCommand):
    help = "Put a backup back. Stop the console and the agents first."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--force", action="store_true", help="replace all that is in the database")
        parser.add_argument("--passphrase-file", help=f"of an encrypted backup; or set {VARIABLE}")

    def handle(self, *args: Any, **options: Any) -> None:
        file: Path = options["file"]
        if not file.is_file():
            raise CommandError(f"there is no file {file}")
        try:
            with tempfile.TemporaryDirectory() as name:
                self._restore(file, Path(name), options)
        except BadArchive as error:
            raise CommandError(str(error)) from None

    def _restore(self, file: Path, folder: Path, options: dict[str, Any]) -> None:
        kept = keeping.read(file, read_passphrase(options["passphrase_file"]), folder)
        if kept.has_key and keeping.put_key_back(folder, settings.DATA_ROOT.key_file):
            self.stdout.write(f"wrote {settings.DATA_ROOT.key_file}")
        counts = keeping.put_back(kept, folder, force=options["force"], now=timezone.now())
        self.stdout.write(f"{sum(counts.values())} rows of {kept.manifest['made_at']} are back")
        verdict = verify()
        if verdict.broken_at is not None:
            raise CommandError(f"the audit chain breaks at row {verdict.broken_at}: {verdict.reason}")
        self.stdout.write(f"the audit chain is whole: {verdict.checked} rows")
