"""The files of ACL 1.0, `conf/plain_acl.yml` and `conf/acl/**/*.yml`, as a table that follows them.

Read at start, where a fault refuses the start, and again when a file changes, where a fault is logged and
what was known stays. An account is the first file's that names it. Changes that administrators ask for are
written to the file that has the account, whole or not at all. Blocking, for a few small files; one thread.
"""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from msgspec import structs

from engine.access.accounts import Account, AccountTable
from engine.access.plain_acl import (
    Matches,
    PlainAcl,
    account_of,
    address_pattern,
    format_plain_acl,
    merged_account,
    parse_plain_acl,
    with_account,
)
from engine.durable_file import write_durable
from engine.errors import BadInput
from engine.protocol.bodies.auth import PlainAccessConfig
from engine.protocol.bodies.basics import DataVersion

log = logging.getLogger(__name__)

MAX_FILE_BYTES = 16 << 20
_Mark = tuple[tuple[str, int, int, int], ...]


class PlainFiles:
    """`accounts` and `is_free_address` are what the gate asks; `reload_if_changed` is called on a clock."""

    def __init__(self, paths: Callable[[], list[Path]], main: Path) -> None:
        self._paths = paths
        self.main = main
        self.accounts = AccountTable()
        self._files: dict[Path, PlainAcl] = {}
        self._free: tuple[Matches, ...] = ()
        self._mark: _Mark = ()
        self._load()

    def is_free_address(self, ip: str) -> bool:
        return any(matches(ip) for matches in self._free)

    @staticmethod
    def is_free_address_of(account: Account, ip: str) -> bool:
        return address_pattern(account.white_addresses)(ip)

    # -- reading --------------------------------------------------------------------------------------------

    def reload_if_changed(self) -> None:
        if self._look() == self._mark:
            return
        try:
            self._load()
            log.warning("the accounts were read again: %d", len(self.accounts.all()))
        except BadInput as error:
            self._mark = self._look()
            log.error("the accounts stay as they were: %s", error.text)

    def _look(self) -> _Mark:
        found: list[tuple[str, int, int, int]] = []
        for path in self._paths():
            try:
                status = path.stat()
            except OSError:
                continue
            found.append((str(path), status.st_ino, status.st_size, status.st_mtime_ns))
        return tuple(found)

    def _load(self) -> None:
        mark = self._look()
        files = {path: _read(path) for path in self._paths() if path.exists()}
        self._take(files)
        self._mark = mark

    def _take(self, files: dict[Path, PlainAcl]) -> None:
        accounts: dict[str, Account] = {}
        for path, acl in files.items():
            for plain in acl.accounts:
                if plain.access_key in accounts:
                    log.warning("%s: the account %r is in another file already", path, plain.access_key)
                else:
                    accounts[plain.access_key] = account_of(plain)
        self._files = files
        self._free = tuple(
            address_pattern(pattern) for acl in files.values() for pattern in acl.white_addresses
        )
        self.accounts.replace_all(accounts.values())

    # -- what administrators see and change -----------------------------------------------------------------

    @property
    def white_addresses(self) -> tuple[str, ...]:
        return tuple(pattern for acl in self._files.values() for pattern in acl.white_addresses)

    def shown_accounts(self) -> tuple[PlainAccessConfig, ...]:
        """Without their secrets."""
        shown: dict[str, PlainAccessConfig] = {}
        for acl in self._files.values():
            for plain in acl.accounts:
                shown.setdefault(plain.access_key, structs.replace(plain, secret_key=None))
        return tuple(shown.values())

    def versions(self) -> dict[str, DataVersion]:
        return {str(path): acl.version for path, acl in self._files.items()}

    def put_account(self, name: str, given: dict[str, Any], now_ms: int) -> None:
        path = self._home_of(name) or self.main
        acl = self._files.get(path, PlainAcl())
        old = next((plain for plain in acl.accounts if plain.access_key == name), None)
        accounts = with_account(acl.accounts, merged_account(old, {"accessKey": name, **given}))
        self._write(path, replace(acl, accounts=accounts), now_ms)

    def delete_account(self, name: str, now_ms: int) -> bool:
        path = self._home_of(name)
        if path is None:
            return False
        acl = self._files[path]
        kept = tuple(plain for plain in acl.accounts if plain.access_key != name)
        self._write(path, replace(acl, accounts=kept), now_ms)
        return True

    def put_white_addresses(self, patterns: tuple[str, ...], file: str | None, now_ms: int) -> None:
        """Of the main file, or of another that is known already: a name from the wire opens nothing else."""
        path = self.main if not file else next((path for path in self._files if str(path) == file), None)
        if path is None:
            raise BadInput(f"{file!r:.200} is not one of this broker's files of accounts")
        for pattern in patterns:
            address_pattern(pattern)
        acl = self._files.get(path, PlainAcl())
        self._write(path, replace(acl, white_addresses=patterns), now_ms)

    def _home_of(self, name: str) -> Path | None:
        return next(
            (path for path, acl in self._files.items() for plain in acl.accounts if plain.access_key == name),
            None,
        )

    def _write(self, path: Path, acl: PlainAcl, now_ms: int) -> None:
        acl = replace(acl, version=acl.version.next_version(now_ms))
        write_durable(path, format_plain_acl(acl).encode())
        self._take({**self._files, path: acl})
        self._mark = self._look()


def acl1_paths(home: Path) -> Callable[[], list[Path]]:
    """The files below a ROCKETMQ_HOME: those of conf/acl first, as RocketMQ reads them."""
    folder, main = home / "conf" / "acl", home / "conf" / "plain_acl.yml"

    def paths() -> list[Path]:
        found = sorted(path for path in folder.rglob("*") if path.suffix in (".yml", ".yaml"))
        return [*found, main]

    return paths


def _read(path: Path) -> PlainAcl:
    try:
        with path.open("rb") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            data = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}") from None
    if len(data) > MAX_FILE_BYTES:
        raise BadInput(f"{path} is larger than {MAX_FILE_BYTES} bytes")
    if mode & 0o007:
        log.warning("%s holds secrets and every user of this machine may read it: chmod 600 it", path)
    try:
        return parse_plain_acl(data.decode("utf-8"))
    except UnicodeDecodeError:
        raise BadInput(f"{path} is not UTF-8") from None
    except BadInput as error:
        raise BadInput(f"{path}: {error.text}") from None
