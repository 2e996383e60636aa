"""Who does something, as audit rows name them: a person, a person's token, or a part of the platform."""

from __future__ import annotations

from dataclasses import dataclass

from rest_framework.request import Request


@dataclass(frozen=True, slots=True)
class Actor:
    name: str
    address: str = ""
    user_id: int | None = None

    @classmethod
    def system(cls, part: str) -> Actor:
        """A part of the platform that acts by itself: `system:reconcile`."""
        return cls(f"system:{part}")


def actor_of(request: Request) -> Actor:
    name = request.user.get_username()
    if request.auth is not None:
        name = f"{name} (token {request.auth.name})"
    return Actor(name, request.META.get("REMOTE_ADDR", ""), request.user.pk)
