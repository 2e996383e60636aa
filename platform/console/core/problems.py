"""What a caller is told: refused, not there, busy, failed elsewhere. Actions and selectors raise it.

How it is answered by REST is problem_answers.py's; here is nothing of DRF, which agents and collectors never
need and would load for a quarter of their start.
"""

from __future__ import annotations


class Problem(Exception):
    """`code` is for programs, `detail` for people."""

    def __init__(
        self, code: str, detail: str, status: int = 400, *, field: str | None = None, **extra: object
    ) -> None:
        super().__init__(detail)
        self.code, self.detail, self.status, self.extra = code, detail, status, extra
        self.errors = [] if field is None else [{"field": field, "code": code, "detail": detail}]


def not_found(what: str, name: str) -> Problem:
    return Problem("not_found", f"there is no {what} {name!r}", 404)


def busy(detail: str, **extra: object) -> Problem:
    return Problem("busy", detail, 409, **extra)
