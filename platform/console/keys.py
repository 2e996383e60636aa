"""The key that the console signs sessions and seals secrets with: from the environment or from a file.

SIGNALBOX_CONSOLE_KEY, else console/secret.key below the data root, which `manage.py up` makes at first. Its
first line is used; the lines below it are former keys that still open what they sealed. A missing or short
key refuses to start: there is no default.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

SHORTEST = 32


def read_keys(file: Path, environment: Mapping[str, str]) -> list[str]:
    text = environment.get("SIGNALBOX_CONSOLE_KEY", "")
    if not text and file.exists():
        text = file.read_text()
    keys = text.split()
    if not keys:
        raise ImproperlyConfigured(
            f"no secret key: set SIGNALBOX_CONSOLE_KEY, or let `manage.py up` make {file}"
        )
    if any(len(key) < SHORTEST for key in keys):
        raise ImproperlyConfigured(f"the secret key is shorter than {SHORTEST} characters")
    return keys


def make_key_file(file: Path) -> bool:
    """Whether it was made: one that exists is never touched."""
    try:
        write_key_file(file, secrets.token_urlsafe(48) + "\n")
    except FileExistsError:
        return False
    return True


def write_key_file(file: Path, text: str) -> None:
    handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "w") as opened:
        opened.write(text)
        opened.flush()
        os.fsync(handle)
