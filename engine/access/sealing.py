"""Secrets on disk: encrypted with a key that lies outside the store, so that a copy of the store tells none.

The key file holds one Fernet key (AES-128-CBC with HMAC-SHA256) per line: the first seals, all of them open,
so a key is replaced by writing a new first line and, once all is sealed anew, taking the old one away. It is
made at the first start, for its owner alone. A file that others may read is refused, as ssh does.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from engine.errors import BadInput


class Seal:
    """`close` a secret for the disk, `open` it again."""

    def __init__(self, keys: list[bytes]) -> None:
        # Imported when wanted: a broker without access control does not pay for it.
        from cryptography.fernet import Fernet, InvalidToken, MultiFernet

        self._wrong_key = InvalidToken
        try:
            self._fernet = MultiFernet([Fernet(key) for key in keys])
        except ValueError:
            raise BadInput("the key file has a line that is not a key") from None

    def close(self, secret: bytes) -> str:
        return self._fernet.encrypt(secret).decode()

    def open(self, sealed: str) -> bytes:
        try:
            return self._fernet.decrypt(sealed.encode())
        except (self._wrong_key, UnicodeEncodeError):
            raise BadInput("a secret was sealed with a key that is not in the key file") from None


def load_seal(path: Path, store: Path, *, may_create: bool) -> Seal:
    """The seal of a key file; made when it is missing and nothing is sealed yet."""
    if path.absolute().is_relative_to(store.absolute()):
        raise BadInput(f"the key file {path} lies in the store: whoever copies the store would have both")
    try:
        data = _read(path)
    except FileNotFoundError:
        if not may_create:
            raise BadInput(
                f"{path} is missing, and the secrets of this broker cannot be read without it"
            ) from None
        data = _create(path)
    except OSError as error:
        raise BadInput(f"the key file {path} cannot be read: {error.strerror}") from None
    keys = [line.strip() for line in data.splitlines() if line.strip()]
    if not keys:
        raise BadInput(f"the key file {path} is empty")
    return Seal(keys)


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        if stat.S_IMODE(os.fstat(file.fileno()).st_mode) & 0o077:
            raise BadInput(f"others may read {path}: chmod 600 it")
        return file.read(65_536)


def _create(path: Path) -> bytes:
    from cryptography.fernet import Fernet

    key = Fernet.generate_key()
    write_private(path, key + b"\n")
    return key


def write_private(path: Path, data: bytes) -> None:
    """A new file for its owner alone, on disk when this returns; one that exists is never overwritten."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise BadInput(f"{path} cannot be made: {error.strerror}") from None
    try:
        os.write(descriptor, data)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
