"""A host's key pair: secrets are sealed with the public half and opened by the agent alone.

The private half is `agent.key` in the host's data root, mode 0600, made when the host joins. Sealed boxes are
anonymous and one-way: the console that sealed a bundle cannot open it again, and another host cannot at all.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from nacl.encoding import Base64Encoder
from nacl.exceptions import CryptoError
from nacl.public import PrivateKey, PublicKey, SealedBox

from console.core.problems import Problem

KEY_FILE = "agent.key"


def seal_for(public_key: str, bundle: Mapping[str, str]) -> str:
    box = SealedBox(PublicKey(public_key.encode(), Base64Encoder))
    return box.encrypt(json.dumps(dict(bundle)).encode(), Base64Encoder).decode()


def open_bundle(private_key: PrivateKey, sealed: str) -> dict[str, str]:
    try:
        opened = SealedBox(private_key).decrypt(sealed.encode(), Base64Encoder)
    except CryptoError:
        raise Problem("sealed", "the secrets were sealed for another key of this host", 409) from None
    return {str(key): str(value) for key, value in json.loads(opened).items()}


def public_half(key: PrivateKey) -> str:
    return key.public_key.encode(Base64Encoder).decode()


def read_key(data_root: Path) -> PrivateKey | None:
    try:
        return PrivateKey((data_root / KEY_FILE).read_bytes(), Base64Encoder)
    except FileNotFoundError:
        return None


def make_key(data_root: Path) -> PrivateKey:
    """The one that is there, or a new one."""
    if (found := read_key(data_root)) is not None:
        return found
    data_root.mkdir(parents=True, exist_ok=True, mode=0o700)
    key = PrivateKey.generate()
    handle = os.open(data_root / KEY_FILE, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(key.encode(Base64Encoder) + b"\n")
        file.flush()
        os.fsync(handle)
    return key
