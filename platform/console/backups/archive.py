"""The backup's file: a tar with few members, perhaps encrypted as a whole.

    manifest.json   format, when, versions of the schema (migrations), rows per table, SHA-256 of the rows
    rows.ndjson     {"table": "core.user"} before the rows of each table, then one row a line
    secret.key      the console's keys, only if asked for: without it sealed secrets stay sealed

Encrypted, the file begins with b"SBXBACKUP1", a salt and then chunks of at most 1 MiB, each under
ChaCha20-Poly1305 with a key that scrypt makes of the pass phrase. A chunk's nonce is its number and whether
it is the last, so that none can be moved, dropped or cut off unseen. Knows no Django: the key of a lost
machine must be readable before there are settings.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

FORMAT = 1
MANIFEST, ROWS, KEY = "manifest.json", "rows.ndjson", "secret.key"
MAGIC = b"SBXBACKUP1"
_SALT = 16
_CHUNK = 1024 * 1024
_TAG = 16
_NONCE = struct.Struct(">3xQ?")
_SCRYPT = {"length": 32, "n": 2**15, "r": 8, "p": 1}


class BadArchive(Exception):
    """Not a backup, damaged, or another pass phrase."""


def is_encrypted(file: Path) -> bool:
    with file.open("rb") as opened:
        return opened.read(len(MAGIC)) == MAGIC


def encrypt(plain: Path, target: Path, passphrase: str) -> None:
    salt = os.urandom(_SALT)
    box = _box(passphrase, salt)
    with plain.open("rb") as source, _private(target) as sink:
        sink.write(MAGIC + salt)
        for number, (chunk, is_last) in enumerate(_chunks(source, _CHUNK)):
            sink.write(box.encrypt(_NONCE.pack(number, is_last), chunk, MAGIC))


def decrypt(file: Path, target: Path, passphrase: str) -> None:
    with file.open("rb") as source, _private(target) as sink:
        if source.read(len(MAGIC)) != MAGIC:
            raise BadArchive("this is not an encrypted backup")
        box = _box(passphrase, source.read(_SALT))
        for number, (chunk, is_last) in enumerate(_chunks(source, _CHUNK + _TAG)):
            try:
                sink.write(box.decrypt(_NONCE.pack(number, is_last), chunk, MAGIC))
            except InvalidTag:
                raise BadArchive("the pass phrase is another one, or the backup is damaged") from None


def _private(target: Path) -> IO[bytes]:
    handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    return os.fdopen(handle, "wb")


def _box(passphrase: str, salt: bytes) -> ChaCha20Poly1305:
    return ChaCha20Poly1305(Scrypt(salt, **_SCRYPT).derive(passphrase.encode()))


def _chunks(source: IO[bytes], size: int) -> Iterator[tuple[bytes, bool]]:
    chunk = source.read(size)
    while True:
        following = source.read(size)
        yield chunk, not following
        if not following:
            return
        chunk = following
