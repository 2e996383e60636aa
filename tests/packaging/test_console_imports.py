"""The console runs with what its lock names: other packages of this environment are made unfindable.

A library that imports what it does not require works here, where the tools of the tests are installed too,
and not in an image.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
IMPORT_EVERYTHING = """
import importlib, pkgutil, sys
from importlib.metadata import packages_distributions

locked = set(sys.argv[1].split(",")) | {"signalbox"}
as_written = lambda name: name.lower().replace("_", "-").replace(".", "-")
strangers = {
    module for module, owners in packages_distributions().items() if not {*map(as_written, owners)} & locked
}

class OnlyLocked:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in strangers:
            raise ModuleNotFoundError(f"No module named {name!r} in the lock", name=name)

sys.meta_path.insert(0, OnlyLocked)
sys.path[:0] = ["platform", "."]
import django
django.setup()
for name in ("console", "clusters", "reports"):
    for module in pkgutil.walk_packages(importlib.import_module(name).__path__, f"{name}."):
        importlib.import_module(module.name)
# What Celery, Channels and the server look up by name once they run.
for name in (
    "kombu.transport.redis",
    "celery.backends.redis",
    "celery.worker.worker",
    "celery.bin.celery",
    "celery.beat",
    "celery.concurrency.prefork",
    "channels_redis.core",
    "channels_redis.pubsub",
    "uvicorn.main",
    "uvicorn.protocols.websockets.websockets_sansio_impl",
    "uvicorn.protocols.http.h11_impl",
    "django.db.backends.postgresql.base",
    "whitenoise.middleware",
):
    importlib.import_module(name)
print(len(strangers), "pytest" in strangers)
"""


def test_the_console_imports_nothing_that_its_lock_does_not_name() -> None:
    lock = (ROOT / "requirements" / "console.lock").read_text()
    locked = re.findall(r"(?m)^([A-Za-z0-9._-]+)(?:\[[\w,]+\])?==", lock)
    environment = os.environ | {
        "DJANGO_SETTINGS_MODULE": "console.settings",
        "SIGNALBOX_CONSOLE_KEY": "only-to-import-0123456789-abcdefghijklmnopq",
    }
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_EVERYTHING, ",".join(name.lower() for name in locked)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    hidden, has_hidden_pytest = done.stdout.split()[-2:]
    assert int(hidden) > 10 and has_hidden_pytest == "True", "the tools of the tests were not hidden"
