"""The sources of release 0.1.0, taken from the history of this repository and run with our packages.

Not compiled: `_cy` modules are ordinary Python too, and slower is fine here.
"""

from __future__ import annotations

import io
import subprocess
import tarfile
from pathlib import Path

from tests.upgrade.release_files import COMMIT

ROOT = Path(__file__).resolve().parents[2]


def check_out(target: Path) -> Path:
    found = subprocess.run(["git", "archive", COMMIT], cwd=ROOT, capture_output=True)
    assert found.returncode == 0, (
        f"release 0.1.0 ({COMMIT}) is not in the history of this clone (a shallow one?): "
        + found.stderr.decode()
    )
    with tarfile.open(fileobj=io.BytesIO(found.stdout)) as archive:
        archive.extractall(target)
    # Shared, so that `make` there finds everything set up.
    for name in (".venv", "build"):
        (target / name).symlink_to(ROOT / name)
    return target
