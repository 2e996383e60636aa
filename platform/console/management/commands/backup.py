"""manage.py backup FILE: the database (and the key) in one file, while the console runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from console.backups import keeping
from console.backups.passphrases import VARIABLE, read_passphrase


class Command(BaseCommand):
    help = "Write the database, and with --with-key the console's key, to one file."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--with-key", action="store_true", help="so that sealed secrets can be opened")
        parser.add_argument("--passphrase-file", help=f"encrypt; or set {VARIABLE}")

    def handle(self, *args: Any, **options: Any) -> None:
        file: Path = options["file"]
        if not file.absolute().parent.is_dir():
            raise CommandError(f"there is no folder {file.absolute().parent}")
        passphrase = read_passphrase(options["passphrase_file"])
        manifest = keeping.make(
            file.absolute(), with_key=options["with_key"], passphrase=passphrase, now=timezone.now()
        )
        kind = "encrypted" if passphrase else "not encrypted"
        self.stdout.write(f"{sum(manifest['rows'].values())} rows in {file}, {kind}")
        if options["with_key"] and not passphrase:
            self.stderr.write("it holds the key and is not encrypted: who reads it reads every secret")
        if not options["with_key"]:
            self.stdout.write("without the key: sealed secrets open only where the key is kept elsewhere")
