"""Loaded before Django's settings (addopts, -p): the data root of this test process, and no key of anybody's.

Each process (each worker of a parallel run) has a folder of its own, which goes with it. Redis is the
embedded server, started by the first test that asks for the fixture `redis` (tests/platform_fixtures.py).
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile

# Short: the path of a unix socket has 108 characters at most.
_folder = tempfile.mkdtemp(prefix="sbx")
os.makedirs(f"{_folder}/console/logs")
atexit.register(shutil.rmtree, _folder, ignore_errors=True)
os.environ["SIGNALBOX_DATA"] = _folder
os.environ["SIGNALBOX_CONSOLE_KEY"] = "only-for-tests-0123456789abcdefghijklmnopqrstuvwxyz"
os.environ.pop("SIGNALBOX_TLS", None)
os.environ["SIGNALBOX_DIAL"] = "127.0.0.0/8"
