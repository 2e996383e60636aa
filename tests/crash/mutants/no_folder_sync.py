"""Mutant: configuration files are renamed into place and the folder is never synced."""

from __future__ import annotations

import sys
from pathlib import Path

import engine.durable_file
from engine.broker.main import main


def _sync_nothing(directory: Path) -> None:
    pass


engine.durable_file.sync_directory = _sync_nothing

if __name__ == "__main__":
    sys.exit(main())
