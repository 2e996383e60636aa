"""Secrets at rest: sealed with the console's key, opened only where they are used, shown nowhere.

Fernet under keys that are derived from the lines of the key file: the first seals, all open, so a key is
changed by adding a line and running `manage.py reseal`.
"""

from __future__ import annotations

import base64

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

from console.core.problems import Problem


def seal(secret: str) -> str:
    return _box().encrypt(secret.encode()).decode()


def unseal(sealed: str) -> str:
    try:
        return _box().decrypt(sealed.encode()).decode()
    except InvalidToken:
        raise Problem(
            "sealed", "a secret was sealed with a key that the console no longer has", 500
        ) from None


def reseal(sealed: str) -> str:
    """The same secret under the newest key."""
    return _box().rotate(sealed.encode()).decode()


def _box() -> MultiFernet:
    return MultiFernet([_fernet(key) for key in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)])


def _fernet(key: str) -> Fernet:
    derived = HKDF(SHA256(), 32, salt=b"signalbox", info=b"secrets at rest").derive(key.encode())
    return Fernet(base64.urlsafe_b64encode(derived))
