"""Why the console cannot keep something: a full disk, a read-only or failing one, a database that is away.

The one place that knows how SQLite, PostgreSQL and the file system say so. What it recognises is answered
with a status and a sentence (problem_answers.py) instead of 500, and /readyz gives the same reason
(health.py). The sentences name no path: readiness is told to anybody who asks.
"""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterator

from console.core.problems import Problem

_FULL = {sqlite3.SQLITE_FULL}
_READ_ONLY = {sqlite3.SQLITE_READONLY}
_FAILED = {sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN}
_PRIMARY = 0xFF
"""SQLite's extended codes have the primary one in their lowest byte."""

# https://www.postgresql.org/docs/current/errcodes-appendix.html
_POSTGRESQL_FULL = {"53100"}
_POSTGRESQL_READ_ONLY = {"25006"}
_POSTGRESQL_FAILED = {"58030"}
_POSTGRESQL_AWAY = ("08", "57P0")


def storage_problem(error: BaseException) -> Problem | None:
    """None: it has nothing to do with storage."""
    for cause in _causes(error):
        if isinstance(cause, OSError) and cause.errno in (errno.ENOSPC, errno.EDQUOT):
            return full()
        if isinstance(cause, OSError) and cause.errno == errno.EROFS:
            return read_only()
        if isinstance(cause, sqlite3.Error):
            return _of_sqlite(getattr(cause, "sqlite_errorcode", 0) & _PRIMARY)
        if type(cause).__module__.partition(".")[0] == "psycopg":
            return _of_postgresql(cause)
    return None


def after_the_call(error: BaseException) -> Problem | None:
    """The same, where brokers were asked before: what they did is done."""
    problem = storage_problem(error)
    if problem is None:
        return None
    detail = f"{problem.detail}; brokers may have done what was asked"
    return Problem(problem.code, detail, problem.status)


def full() -> Problem:
    return Problem(
        "storage_full", "the console's disk is full, so this could not be saved: make room on it", 507
    )


def read_only() -> Problem:
    return Problem(
        "storage_read_only", "the console's database is read-only, so this could not be saved", 503
    )


def failed() -> Problem:
    detail = "the console's disk reports an error, so this could not be saved: its log says which"
    return Problem("storage_failed", detail, 503)


def away() -> Problem:
    return Problem("database_away", "the console's database does not answer", 503)


def _of_sqlite(code: int) -> Problem | None:
    if code in _FULL:
        return full()
    if code in _READ_ONLY:
        return read_only()
    return failed() if code in _FAILED else None


def _of_postgresql(error: BaseException) -> Problem | None:
    state = getattr(error, "sqlstate", None)
    if state is None:
        # Not an answer of the server: the connection could not be made or broke.
        return away() if type(error).__name__ == "OperationalError" else None
    if state in _POSTGRESQL_FULL:
        return full()
    if state in _POSTGRESQL_READ_ONLY:
        return read_only()
    if state in _POSTGRESQL_FAILED:
        return failed()
    return away() if state.startswith(_POSTGRESQL_AWAY) else None


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Django wraps the driver's error, which is the cause; never further than a few."""
    for _ in range(5):
        if error is None:
            return
        yield error
        error = error.__cause__ or error.__context__
