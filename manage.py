#!/usr/bin/env python
"""Puts platform/ on sys.path and hands over to Django; `up` and `agent` find a data root and a key first."""

import os
import sys
from pathlib import Path

if __name__ == "__main__":
    root = Path(__file__).resolve().parent
    sys.path[:0] = [str(root / "platform"), str(root)]
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
    from console.first_start import prepare

    prepare(sys.argv[1:])
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)
