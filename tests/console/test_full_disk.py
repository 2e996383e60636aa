"""A full disk: writes answer with a sentence, reads go on, /readyz gives the reason, and the console recovers
as soon as there is room.

Real refusals of the operating system and of SQLite that need no mount: a limit on the size of files of a
served console (RLIMIT_FSIZE), and a limit on the pages of the database. On PostgreSQL, where these tests run
too, a trigger raises the server's own error.
"""

from __future__ import annotations

import errno
import json
import resource
import sqlite3
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.core.cache import cache
from django.db import OperationalError, connection
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from console import health
from console.core import audit
from console.core.actors import Actor
from console.core.models import AuditEntry, User
from console.core.problems import Problem
from console.core.storage_errors import storage_problem
from tests.platform_fixtures import PASSWORD, client_of, make_user
from tests.platform_processes import served, soon

USERS = "/api/v1/users/"
TOKENS = "/api/v1/tokens/"


@contextmanager
def full_database() -> Iterator[None]:
    """Whatever needs more room is refused by the database itself."""
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            [(most,)] = cursor.execute("PRAGMA max_page_count")
            [(pages,)] = cursor.execute("PRAGMA page_count")
            cursor.execute(f"PRAGMA max_page_count = {pages}")
        else:
            cursor.execute(
                "CREATE FUNCTION disk_is_full() RETURNS trigger LANGUAGE plpgsql AS "
                "$$ BEGIN RAISE SQLSTATE '53100' USING MESSAGE = 'No space left on device'; END $$"
            )
            cursor.execute(
                "CREATE TRIGGER disk_is_full BEFORE INSERT ON core_auditentry EXECUTE FUNCTION disk_is_full()"
            )
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            if connection.vendor == "sqlite":
                cursor.execute(f"PRAGMA max_page_count = {most}")
            else:
                cursor.execute("DROP TRIGGER disk_is_full ON core_auditentry")
                cursor.execute("DROP FUNCTION disk_is_full")


def _first_refusal(api: APIClient, most: int = 300) -> Any:
    """SQLite fills the pages that it has first."""
    for number in range(most):
        answer = api.post(USERS, {"username": f"person-{number}"}, format="json")
        if answer.status_code != 201:
            return answer
    raise AssertionError(f"{most} people fitted in")


@pytest.mark.django_db(transaction=True)
def test_a_full_database_is_named_and_nothing_is_half_done(redis: str) -> None:
    api = client_of(User.objects.create_superuser("root", password=PASSWORD))
    api.raise_request_exception = False
    with full_database():
        answer = _first_refusal(api)
        assert (answer.status_code, answer["Content-Type"]) == (507, "application/problem+json")
        assert answer.json()["code"] == "storage_full"
        assert "disk is full" in answer.json()["detail"]
        assert api.get(USERS).status_code == 200, "reading goes on"
        people, rows = User.objects.count(), AuditEntry.objects.count()
    assert api.post(USERS, {"username": "after-all"}, format="json").status_code == 201
    assert User.objects.count() == people + 1
    assert AuditEntry.objects.count() == rows + 1
    assert audit.verify().broken_at is None


@pytest.mark.django_db(transaction=True)
def test_a_person_who_signs_in_on_a_full_disk_is_told(redis: str) -> None:
    cache.clear()
    make_user("ann")
    browser = Client(raise_request_exception=False)
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA query_only = ON")
        expected = (503, "storage_read_only")
    else:
        expected = (507, "storage_full")
    try:
        said = {"username": "ann", "password": PASSWORD}
        with full_database():
            answer = browser.post("/api/v1/session/", json.dumps(said), "application/json")
        assert (answer.status_code, answer.json()["code"]) == expected
    finally:
        if connection.vendor == "sqlite":
            with connection.cursor() as cursor:
                cursor.execute("PRAGMA query_only = OFF")


@pytest.mark.django_db(transaction=True)
def test_what_brokers_did_before_the_disk_was_full_is_not_denied() -> None:
    """The intent is in the chain; only the outcome could not be added."""
    with pytest.raises(Problem) as caught, audit.attempt(Actor("ann"), "topic.create", target="orders"):
        raise OperationalError from _sqlite_error(sqlite3.SQLITE_FULL)
    assert (caught.value.code, caught.value.status) == ("storage_full", 507)
    assert "brokers may have done what was asked" in caught.value.detail


@pytest.mark.django_db(transaction=True)
def test_a_console_that_cannot_write_says_why_and_recovers(redis: str, settings: Any) -> None:
    """A real console whose files may not grow: its database, log and journal."""
    secret = _token_of(User.objects.create_superuser("root", password=PASSWORD))
    with served() as (process, server):
        console = _Console(f"http://{server}", secret)
        assert console.make("before") == (201, None)
        assert console.ask("/readyz")[0] == 200
        no_limit = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)
        if connection.vendor == "sqlite":
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (0, no_limit[1]))
            status, code = console.make("refused")
            assert (status, code) in ((503, "storage_failed"), (507, "storage_full"))
            status, said = soon(lambda: _not_ready(console))
            assert said["checks"] == {"database": True, "writes": False, "room": True, "redis": True}
            [reason] = said["reasons"]
            assert "disk" in reason and str(settings.DATA_ROOT.path) not in reason
            assert console.ask(USERS)[0] == 200, "reading goes on"
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, no_limit)
        assert console.make("after") == (201, None)
        assert soon(lambda: console.ask("/readyz")[0] == 200)
    assert set(User.objects.values_list("username", flat=True)) == {"root", "before", "after"}


class _Console:
    def __init__(self, address: str, secret: str) -> None:
        self._address, self._secret = address, secret

    def ask(self, path: str, body: Any = None) -> tuple[int, Any]:
        headers = {"Authorization": f"Bearer {self._secret}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        try:
            with urllib.request.urlopen(
                urllib.request.Request(self._address + path, data, headers)
            ) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as refusal:
            return refusal.code, json.load(refusal)

    def make(self, username: str) -> tuple[int, str | None]:
        status, body = self.ask(USERS, {"username": username})
        return status, body.get("code")


def _not_ready(console: _Console) -> tuple[int, Any] | None:
    status, body = console.ask("/readyz")
    return (status, body) if status == 503 else None


def _token_of(user: User) -> str:
    body = {"name": "ci", "role": "admin", "expires_in_days": 1}
    answer = client_of(user).post(TOKENS, body, format="json")
    return str(answer.json()["secret"])


# -- reasons, one by one ------------------------------------------------------------------------------------


def _sqlite_error(code: int) -> sqlite3.Error:
    error = sqlite3.OperationalError("what SQLite says")
    error.sqlite_errorcode = code
    return error


@pytest.mark.parametrize(
    ("cause", "expected"),
    [
        (_sqlite_error(sqlite3.SQLITE_FULL), ("storage_full", 507)),
        (_sqlite_error(sqlite3.SQLITE_IOERR_WRITE), ("storage_failed", 503)),
        (_sqlite_error(sqlite3.SQLITE_IOERR_FSYNC), ("storage_failed", 503)),
        (_sqlite_error(sqlite3.SQLITE_CANTOPEN), ("storage_failed", 503)),
        (_sqlite_error(sqlite3.SQLITE_READONLY_DBMOVED), ("storage_read_only", 503)),
        (_sqlite_error(sqlite3.SQLITE_BUSY), None),
        (_sqlite_error(sqlite3.SQLITE_CONSTRAINT_UNIQUE), None),
        (psycopg.errors.DiskFull("no space left"), ("storage_full", 507)),
        (psycopg.errors.ReadOnlySqlTransaction("read-only"), ("storage_read_only", 503)),
        (psycopg.errors.IoError("io"), ("storage_failed", 503)),
        (psycopg.errors.AdminShutdown("terminating"), ("database_away", 503)),
        (psycopg.OperationalError("connection refused"), ("database_away", 503)),
        (psycopg.errors.UndefinedTable("no such table"), None),
        (OSError(errno.ENOSPC, "no space"), ("storage_full", 507)),
        (OSError(errno.EDQUOT, "quota"), ("storage_full", 507)),
        (OSError(errno.EROFS, "read-only"), ("storage_read_only", 503)),
        (OSError(errno.ECONNREFUSED, "refused"), None),
        (ValueError("no"), None),
    ],
)
def test_every_way_of_saying_it_is_known(cause: Exception, expected: tuple[str, int] | None) -> None:
    wrapped = OperationalError("as Django says it")
    wrapped.__cause__ = cause
    for error in (cause, wrapped):
        problem = storage_problem(error)
        assert (problem and (problem.code, problem.status)) == expected


def test_little_room_is_said_before_it_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert health.why_no_room(tmp_path) is None
    monkeypatch.setattr(health, "LEAST_ROOM_BYTES", 1 << 60)
    assert "MB left, less than" in str(health.why_no_room(tmp_path))
    assert health.why_no_room(tmp_path / "gone") == "the data root cannot be read: No such file or directory"


def test_the_probe_writes_at_most_once_in_its_time() -> None:
    said = iter([None, "full", None])
    verdict = health.KeptVerdict(lambda: next(said), every_s=2.0)
    assert [verdict.reason(at) for at in (0.0, 1.9, 2.0, 3.9, 4.0)] == [None, None, "full", "full", None]


@pytest.mark.django_db
def test_the_probe_keeps_one_row(redis: str) -> None:
    now = timezone.now()
    assert health.why_no_write(now) is None
    assert health.why_no_write(now) is None
    assert health.WriteProbe.objects.count() == 1
