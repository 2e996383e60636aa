"""Back up, wipe, restore: rows, secrets and the audit chain are what they were."""

from __future__ import annotations

import io
import json
import os
import sqlite3
import subprocess
import sys
import tarfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone

from clusters.models import AlertChannel, AlertRule, Cluster, SeriesChunk
from console.backups import archive, keeping, rows
from console.backups.key import key_of
from console.core import audit
from console.core.actors import Actor
from console.core.models import AuditEntry, RoleBinding, User
from console.core.sealing import seal, unseal
from tests.platform_fixtures import PASSWORD, make_user

pytestmark = pytest.mark.django_db(transaction=True)
SECRET = "the-brokers-secret"
PHRASE = "correct horse"
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def filled() -> dict[str, list[dict[str, Any]]]:
    """A database with something of every shape: keys, JSON, times, bytes, rows that point at rows."""
    make_user("ann", 2, "prod", "orders-*")
    User.objects.create_superuser("root", password=PASSWORD)
    cluster = Cluster.objects.create(
        name="prod",
        broker_cluster_name="C",
        kind="attached",
        sealed_secret_key=seal(SECRET),
        labels={"zone": "é", "n": 2**60},
        created_at=timezone.now(),
    )
    SeriesChunk.objects.create(
        cluster=cluster,
        subject="topic",
        name="t",
        metric="put",
        resolution_s=10,
        starts_at=timezone.now(),
        points=b"\0\x01\xff" * 9,
    )
    rule = AlertRule.objects.create(name="r", kind="lag", created_by="ann", created_at=timezone.now())
    channel = AlertChannel.objects.create(name="c", kind="mail", created_by="ann", created_at=timezone.now())
    rule.channels.add(channel)
    with audit.attempt(Actor("ann"), "topic.create", cluster="prod") as outcome:
        outcome.details["after"] = {"queues": 8, "rate": 0.1}
    return snapshot()


def snapshot() -> dict[str, list[dict[str, Any]]]:
    """All rows but the chain's, which a backup adds to."""
    return {
        model._meta.label: [_plain(row) for row in model._base_manager.order_by("pk").values()]
        for model in rows.tables()
        if not model._meta.label.startswith("core.Audit")
    }


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    return {name: bytes(value) if isinstance(value, memoryview) else value for name, value in row.items()}


def wipe() -> None:
    rows.wipe()
    assert rows.is_empty()


@pytest.mark.parametrize("phrase", [None, PHRASE])
def test_what_was_backed_up_comes_back(
    filled: dict[str, Any], tmp_path: Path, phrase: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if phrase:
        monkeypatch.setenv("SIGNALBOX_BACKUP_PASSPHRASE", phrase)
    file = tmp_path / "b.sbx"
    call_command("backup", str(file))
    assert file.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [file]
    wipe()
    call_command("restore", str(file))
    assert snapshot() == filled
    assert unseal(Cluster.objects.get().sealed_secret_key) == SECRET
    assert User.objects.get(username="root").check_password(PASSWORD)
    assert [channel.name for channel in AlertRule.objects.get().channels.all()] == ["c"]
    call_command("verify_audit")
    actions = list(AuditEntry.objects.order_by("id").values_list("action", flat=True))
    assert actions == ["topic.create", "topic.create", "backup.create", "backup.restore"]
    assert AuditEntry.objects.get(pk=2).intent_id == 1
    assert make_user("new").pk not in {row["id"] for row in filled["core.User"]}, "counters go on"
    RoleBinding.objects.create(user=User.objects.get(username="new"), role=1)


def test_a_database_that_is_not_empty_is_left_alone_unless_forced(
    filled: dict[str, Any], tmp_path: Path
) -> None:
    file = str(tmp_path / "b.sbx")
    call_command("backup", file)
    User.objects.filter(username="ann").update(team="changed since")
    with pytest.raises(CommandError, match="not empty"):
        call_command("restore", file)
    assert User.objects.get(username="ann").team == "changed since"
    call_command("restore", file, "--force")
    assert snapshot() == filled


def test_no_secret_is_readable_in_a_backup_without_the_key(filled: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "b.sbx"
    call_command("backup", str(file))
    with tarfile.open(file) as tar:
        assert archive.KEY not in tar.getnames()
        text = tar.extractfile(archive.ROWS).read().decode()  # type: ignore[union-attr]
    assert SECRET not in text and PASSWORD not in text
    with pytest.raises(archive.BadArchive, match="without --with-key"):
        key_of(file, None)


def test_the_key_comes_back_before_there_are_settings(
    filled: dict[str, Any], tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIGNALBOX_BACKUP_PASSPHRASE", PHRASE)
    file = tmp_path / "b.sbx"
    call_command("backup", str(file), "--with-key")
    lost = {"PATH": os.environ["PATH"], "SIGNALBOX_DATA": str(tmp_path / "new"), "PYTHONPATH": "platform"}
    command = [sys.executable, "-m", "console.backups.key", str(file)]
    without = subprocess.run(command, cwd=ROOT, env=lost, capture_output=True, text=True)
    assert without.returncode == 1 and "encrypted" in without.stderr
    lost["SIGNALBOX_BACKUP_PASSPHRASE"] = PHRASE
    subprocess.run(command, cwd=ROOT, env=lost, check=True, capture_output=True)
    key_file = tmp_path / "new" / "console" / "secret.key"
    assert key_file.read_text().split() == [settings.SECRET_KEY]
    assert key_file.stat().st_mode & 0o777 == 0o600
    assert subprocess.run(command, cwd=ROOT, env=lost, capture_output=True).returncode == 1, "not twice"


@pytest.mark.parametrize("place", [0, 5, 40, -20])
@pytest.mark.parametrize("phrase", [None, PHRASE])
def test_a_damaged_backup_changes_nothing(
    filled: dict[str, Any], tmp_path: Path, place: int, phrase: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if phrase:
        monkeypatch.setenv("SIGNALBOX_BACKUP_PASSPHRASE", phrase)
    file = tmp_path / "b.sbx"
    call_command("backup", str(file))
    content = bytearray(file.read_bytes())
    content[place] ^= 0x55
    file.write_bytes(content)
    try:
        call_command("restore", str(file), "--force")
    except CommandError:
        assert not AuditEntry.objects.filter(action="backup.restore").exists()
    else:
        # Bytes of gzip's head that mean nothing (its time): the rows were vouched for by their digest.
        assert phrase is None and 4 <= place < 10
    assert snapshot() == filled


def test_a_cut_backup_and_another_phrase_are_refused(
    filled: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "b.sbx"
    monkeypatch.setenv("SIGNALBOX_BACKUP_PASSPHRASE", PHRASE)
    call_command("backup", str(file))
    monkeypatch.setenv("SIGNALBOX_BACKUP_PASSPHRASE", "another")
    with pytest.raises(CommandError, match="pass phrase"):
        call_command("restore", str(file), "--force")
    file.write_bytes(file.read_bytes()[:-30])
    monkeypatch.setenv("SIGNALBOX_BACKUP_PASSPHRASE", PHRASE)
    with pytest.raises(CommandError, match="damaged"):
        call_command("restore", str(file), "--force")
    (tmp_path / "x").write_text("not a backup")
    with pytest.raises(CommandError, match="not a backup"):
        call_command("restore", str(tmp_path / "x"))


def test_whole_chunks_cannot_be_dropped_from_an_encrypted_backup(tmp_path: Path) -> None:
    plain, sealed = tmp_path / "plain", tmp_path / "sealed"
    plain.write_bytes(os.urandom(3 * 1024 * 1024 + 7))
    archive.encrypt(plain, sealed, PHRASE)
    archive.decrypt(sealed, tmp_path / "back", PHRASE)
    assert (tmp_path / "back").read_bytes() == plain.read_bytes()
    sealed.write_bytes(sealed.read_bytes()[: len(archive.MAGIC) + 16 + 2 * (1024 * 1024 + 16)])
    with pytest.raises(archive.BadArchive):
        archive.decrypt(sealed, tmp_path / "back", PHRASE)


def test_a_restore_needs_nothing_of_newer_pythons_tar(
    filled: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Debian 12 has Python 3.11.2, whose TarFile.extract() has no filter, and our images are made of it."""
    file = str(tmp_path / "b.sbx")
    call_command("backup", file)

    def of_3_11_2(self: tarfile.TarFile, member: Any, path: Any = "", set_attrs: bool = True) -> None:
        raise AssertionError("without a filter it would restore owners, modes and links of a forged backup")

    monkeypatch.setattr(tarfile.TarFile, "extract", of_3_11_2)
    call_command("restore", file, "--force")
    assert snapshot() == filled


def _link(name: str, kind: bytes, target: str) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, target
    return member


@pytest.mark.parametrize(
    "forged",
    [
        [_link(archive.ROWS, tarfile.SYMTYPE, "../outside")],
        [_link(archive.ROWS, tarfile.LNKTYPE, "../outside")],
        [_link(archive.ROWS, tarfile.CHRTYPE, "")],
        [_link(archive.ROWS, tarfile.FIFOTYPE, "")],
        [tarfile.TarInfo("/" + archive.ROWS), tarfile.TarInfo("../" + archive.ROWS)],
        [tarfile.TarInfo(archive.ROWS), tarfile.TarInfo(archive.ROWS)],
    ],
    ids=["symlink", "hard link", "device", "pipe", "paths", "twice"],
)
def test_a_forged_backup_writes_nothing_outside_and_is_refused(
    forged: list[tarfile.TarInfo], tmp_path: Path
) -> None:
    (tmp_path / "outside").write_text("untouched")
    file, folder = tmp_path / "b.sbx", tmp_path / "folder"
    folder.mkdir()
    with tarfile.open(file, "w:gz") as tar:
        manifest = tarfile.TarInfo(archive.MANIFEST)
        manifest.size = 2
        tar.addfile(manifest, io.BytesIO(b"{}"))
        for member in forged:
            tar.addfile(member)
    with pytest.raises(archive.BadArchive, match="not a backup"):
        keeping.read(file, None, folder)
    assert (tmp_path / "outside").read_text() == "untouched"
    assert {each.name for each in tmp_path.iterdir()} == {"outside", "b.sbx", "folder"}
    assert not any(each.is_symlink() for each in folder.iterdir())


def test_a_backup_of_a_newer_release_is_refused_and_changes_nothing(
    filled: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = str(tmp_path / "b.sbx")
    known = rows.schema_versions()
    with monkeypatch.context() as newer:
        newer.setattr(rows, "schema_versions", lambda: sorted([*known, "core.9999_from_the_future"]))
        call_command("backup", file)
    with pytest.raises(CommandError, match=r"newer release: the migration core\.9999_from_the_future"):
        call_command("restore", file, "--force")
    assert snapshot() == filled


def test_every_table_of_ours_is_in_a_backup_or_left_out_on_purpose() -> None:
    ours = {
        model._meta.label_lower
        for model in apps.get_models()
        if model.__module__.split(".")[0] in ("console", "clusters", "reports")
    }
    assert ours - {model._meta.label_lower for model in rows.tables()} == rows.LEFT_OUT


def test_a_changed_key_opens_what_the_former_sealed_and_reseals_it(
    filled: dict[str, Any], settings: Any
) -> None:
    former = settings.SECRET_KEY
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "n" * 40, [former]
    assert unseal(Cluster.objects.get().sealed_secret_key) == SECRET
    call_command("reseal")
    settings.SECRET_KEY_FALLBACKS = []
    assert unseal(Cluster.objects.get().sealed_secret_key) == SECRET
    row = AuditEntry.objects.first()
    assert (row.action, row.details) == ("key.reseal", {"secrets": 1})


def test_resealing_without_the_former_key_changes_nothing(filled: dict[str, Any], settings: Any) -> None:
    before = Cluster.objects.get().sealed_secret_key
    settings.SECRET_KEY = "n" * 40
    with pytest.raises(CommandError, match="nothing was changed"):
        call_command("reseal")
    assert Cluster.objects.get().sealed_secret_key == before


def test_others_write_while_a_backup_reads_one_moment(filled: dict[str, Any]) -> None:
    database = connection.settings_dict["NAME"]
    with rows.one_moment():
        before = User.objects.count()
        if connection.vendor == "sqlite":
            with closing(sqlite3.connect(database, timeout=1)) as other, other:
                other.execute("UPDATE core_user SET team = 'meanwhile'")
                other.execute("DELETE FROM core_rolebinding")
        assert User.objects.count() == before
        assert not User.objects.filter(team="meanwhile").exists()
        assert RoleBinding.objects.count() == 1
    assert connection.vendor != "sqlite" or User.objects.filter(team="meanwhile").exists()


def test_a_manifest_says_what_is_inside(filled: dict[str, Any], tmp_path: Path) -> None:
    call_command("backup", str(tmp_path / "b.sbx"))
    with tarfile.open(tmp_path / "b.sbx") as tar:
        manifest = json.load(tar.extractfile(archive.MANIFEST))  # type: ignore[arg-type]
    assert manifest["rows"]["core.user"] == 2 and manifest["rows"]["clusters.cluster"] == 1
