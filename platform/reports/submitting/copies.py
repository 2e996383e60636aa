"""Copies, on the console's machine, of files that lie on a host whose disk it does not see.

    <data root>/console/report-copies/<run>/<table>/part-….parquet

They come in pieces through Redis (reports/actions/bringing.py) and go when the run expires.
"""

from __future__ import annotations

import shutil
import uuid
from pathlib import Path

from django.conf import settings

from reports.submitting.folders import is_part, is_table


def copy_path(run_id: uuid.UUID, table: str, name: str) -> Path:
    assert is_table(table) and is_part(name)
    return _folder(run_id) / table / name


def remove_copy(run_id: uuid.UUID) -> None:
    shutil.rmtree(_folder(run_id), ignore_errors=True)


def _folder(run_id: uuid.UUID) -> Path:
    return Path(settings.DATA_ROOT.console) / "report-copies" / str(run_id)
