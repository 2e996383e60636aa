"""The key file: made for its owner alone, never inside the store, never made anew over sealed secrets."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from cryptography.fernet import Fernet

from engine.access.sealing import load_seal
from engine.errors import BadInput


def test_the_first_start_makes_a_key_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "keys" / "secret.key"
    seal = load_seal(path, tmp_path / "store", may_create=True)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    sealed = seal.close(b"secret")
    assert load_seal(path, tmp_path / "store", may_create=False).open(sealed) == b"secret"


def test_a_missing_key_is_not_replaced_once_something_is_sealed(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="missing"):
        load_seal(tmp_path / "secret.key", tmp_path / "store", may_create=False)
    assert not (tmp_path / "secret.key").exists()


def test_a_key_in_the_store_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="lies in the store"):
        load_seal(tmp_path / "store" / "config" / "k", tmp_path / "store", may_create=True)


def test_a_key_that_others_may_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "k"
    path.write_bytes(Fernet.generate_key())
    path.chmod(0o640)
    with pytest.raises(BadInput, match="chmod 600"):
        load_seal(path, tmp_path / "store", may_create=True)


def test_two_keys_open_and_the_first_seals(tmp_path: Path) -> None:
    old, new = Fernet.generate_key(), Fernet.generate_key()
    path = tmp_path / "k"
    path.touch(0o600)
    path.write_bytes(old)
    sealed = load_seal(path, tmp_path / "store", may_create=False).close(b"s")
    path.write_bytes(new + b"\n" + old + b"\n")
    both = load_seal(path, tmp_path / "store", may_create=False)
    assert both.open(sealed) == b"s"
    path.write_bytes(new)
    assert load_seal(path, tmp_path / "store", may_create=False).open(both.close(b"t")) == b"t"


@pytest.mark.parametrize("content", [b"", b"not a key\n"])
def test_what_is_no_key_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "k"
    path.touch(0o600)
    path.write_bytes(content)
    with pytest.raises(BadInput, match="key file"):
        load_seal(path, tmp_path / "store", may_create=False)
