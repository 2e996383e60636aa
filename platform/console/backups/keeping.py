"""Making a backup and putting one back: what the commands do, without their words.

A restore is one transaction: all of it or nothing. A backup of an earlier release is loaded into that
release's tables, which are then migrated (older_schema.py); interrupted, it is restored again with --force.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import shutil
import tarfile
import tempfile
import zlib
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from django.apps import apps
from django.conf import settings
from django.db import transaction

from console.backups import archive, rows
from console.backups.archive import BadArchive
from console.backups.older_schema import models_of
from console.core import audit
from console.core.actors import Actor
from console.keys import write_key_file

_ACTOR = Actor.system("backup")


@dataclass(frozen=True, slots=True)
class Kept:
    manifest: dict[str, Any]
    has_key: bool


def make(file: Path, *, with_key: bool, passphrase: str | None, now: datetime) -> dict[str, Any]:
    """The file appears under its name when it is whole."""
    audit.record(_ACTOR, "backup.create", target=file.name, details={"with_key": with_key}, now=now)
    with tempfile.TemporaryDirectory(dir=file.parent, prefix=".backup-") as folder:
        plain, whole = Path(folder) / "plain", Path(folder) / "whole"
        manifest = _write_rows(Path(folder) / archive.ROWS, now)
        _pack(plain, Path(folder) / archive.ROWS, manifest, with_key)
        if passphrase is not None:
            archive.encrypt(plain, whole, passphrase)
        else:
            plain.rename(whole)
        _sync(whole)
        os.replace(whole, file)
    return manifest


def read(file: Path, passphrase: str | None, folder: Path) -> Kept:
    """Unpacks below `folder` what it can vouch for."""
    plain = file
    if archive.is_encrypted(file):
        if passphrase is None:
            raise BadArchive("the backup is encrypted: a pass phrase is needed")
        plain = folder / "plain"
        archive.decrypt(file, plain, passphrase)
    names = _unpack(plain, folder)
    manifest = json.loads((folder / archive.MANIFEST).read_text())
    if manifest.get("format") != archive.FORMAT:
        raise BadArchive(f"backups of format {manifest.get('format')} are not known here")
    if _digest(folder / archive.ROWS) != manifest["rows_sha256"]:
        raise BadArchive("the backup is damaged: its rows are not those that were written")
    return Kept(manifest, archive.KEY in names)


def put_back(kept: Kept, folder: Path, *, force: bool, now: datetime) -> dict[str, int]:
    if not force and not rows.is_empty():
        raise BadArchive("the database is not empty: --force replaces all that is in it")
    with models_of(kept.manifest["schema"]) as models, transaction.atomic():
        rows.wipe(models)
        with (folder / archive.ROWS).open("rb") as source:
            counts = rows.load(source, models)
        if counts != kept.manifest["rows"]:
            raise BadArchive("the backup is damaged: its tables have other numbers of rows")
        if models is apps:
            _record_restore(kept, force, now)
    if models is not apps:
        _record_restore(kept, force, now)
    return counts


def _record_restore(kept: Kept, force: bool, now: datetime) -> None:
    """In the restore's transaction, unless the audit table itself is that of an earlier release meanwhile."""
    details = {"made_at": kept.manifest["made_at"], "forced": force}
    audit.record(_ACTOR, "backup.restore", details=details, now=now)


def put_key_back(folder: Path, file: Path) -> bool:
    """Whether it was written; one that is there and differs is never replaced."""
    text = (folder / archive.KEY).read_text()
    if file.exists():
        if file.read_text().split() != text.split():
            raise BadArchive(f"{file} holds another key: move it away first, if it is the wrong one")
        return False
    write_key_file(file, text)
    return True


def _write_rows(file: Path, now: datetime) -> dict[str, Any]:
    counts: dict[str, int] = {}
    with rows.one_moment(), file.open("wb") as sink:
        sink.writelines(rows.lines(counts))
        schema = rows.schema_versions()
    return {
        "format": archive.FORMAT,
        "made_at": now.isoformat(),
        "schema": schema,
        "rows": counts,
        "rows_sha256": _digest(file),
    }


def _pack(target: Path, rows_file: Path, manifest: dict[str, Any], with_key: bool) -> None:
    handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "wb") as opened, tarfile.open(fileobj=opened, mode="w:gz", compresslevel=6) as tar:
        _add(tar, archive.MANIFEST, json.dumps(manifest, indent=1).encode())
        tar.add(rows_file, archive.ROWS, filter=_nameless)
        if with_key:
            keys = "\n".join([settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]) + "\n"
            _add(tar, archive.KEY, keys.encode())


def _add(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mode = len(content), 0o600
    tar.addfile(member, io.BytesIO(content))


def _nameless(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    member.mode = 0o600
    return member


def _unpack(plain: Path, folder: Path) -> list[str]:
    """The members that we know and nothing else, wherever a forged tar would put the rest."""
    known = {archive.MANIFEST, archive.ROWS, archive.KEY}
    try:
        _read_to_the_end(plain)
        with tarfile.open(plain, mode="r:gz") as tar:
            found = [member for member in tar if member.isfile() and member.name in known]
            for member in found:
                _unpack_one(tar, member, folder / member.name)
    except (tarfile.TarError, zlib.error, OSError, EOFError) as error:
        raise BadArchive(f"this is not a backup: {error}") from None
    names = [member.name for member in found]
    if not {archive.MANIFEST, archive.ROWS} <= set(names):
        raise BadArchive("this is not a backup: it has no manifest or no rows")
    return names


def _unpack_one(tar: tarfile.TarFile, member: tarfile.TarInfo, target: Path) -> None:
    """Only bytes come out of the archive: owner, mode, times and links of a forged member have no effect.

    TarFile.extract() has no `filter` before Python 3.11.4, and Debian 12 has 3.11.2. O_EXCL refuses a member
    that the archive holds twice.
    """
    source = tar.extractfile(member)
    if source is None:
        raise BadArchive(f"this is not a backup: {member.name} is not a file")
    handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with source, os.fdopen(handle, "wb") as opened:
        shutil.copyfileobj(source, opened, 1024 * 1024)


def _read_to_the_end(plain: Path) -> None:
    """For gzip's own check, which a tar's reader stops short of."""
    with gzip.open(plain) as opened:
        while opened.read(1024 * 1024):
            pass


def _digest(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def _sync(file: Path) -> None:
    with file.open("rb") as opened:
        os.fsync(opened.fileno())
