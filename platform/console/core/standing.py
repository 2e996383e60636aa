"""What a job may do for the person who asked for it: what they could then, and still can now.

A job outlives its request. Rights that were taken away since are gone for the job as well, and a job that was
asked for by a token never gets more than the token had.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import Any

from console.core.models import User
from console.core.rights import EVERYTHING, Grant, Grants, grants_of


@dataclass(frozen=True, slots=True)
class Standing:
    then: Grants
    now: Grants

    def may(self, role: int, cluster: str = EVERYTHING, name: str = EVERYTHING) -> bool:
        return self.then.may(role, cluster, name) and self.now.may(role, cluster, name)


def kept_grants(grants: Grants) -> list[list[Any]]:
    """For a row of the database."""
    return [list(astuple(grant)) for grant in grants.items]


def standing_of(owner: User, kept: list[list[Any]]) -> Standing:
    current = grants_of(owner) if owner.is_active else Grants(())
    return Standing(Grants(tuple(Grant(*values) for values in kept)), current)
