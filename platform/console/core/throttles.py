"""Slowing down guesses of passwords: per account and address, and per address alone.

Counters live in Redis, so that all processes share them. If Redis is away, signing in is refused rather than
left unguarded. Unknown accounts cost the same time and the same attempts as known ones.
"""

from __future__ import annotations

import hashlib

from django.core.cache import cache
from redis.exceptions import RedisError

from console.core.problems import Problem

WINDOW_S = 60
PER_ACCOUNT = 5
PER_ADDRESS = 30


class Throttled(Problem):
    def __init__(self, *, is_first: bool) -> None:
        super().__init__("throttled", "too many attempts: wait a minute", 429, retry_after_s=WINDOW_S)
        self.is_first = is_first
        """The one that went over the limit, of all that are refused within the window."""


def admit_sign_in(account: str, address: str) -> None:
    """Counts one attempt; raises when there were too many of them."""
    for kind, what, most in (
        ("account", f"{account}@{address}", PER_ACCOUNT),
        ("address", address, PER_ADDRESS),
    ):
        if (count := _count(kind, what)) > most:
            raise Throttled(is_first=count == most + 1)


def forget(account: str, address: str) -> None:
    """After a success: a person who mistyped twice starts anew."""
    cache.delete(_key("account", f"{account}@{address}"))


def _count(kind: str, what: str) -> int:
    key = _key(kind, what)
    try:
        cache.add(key, 0, WINDOW_S)
        return int(cache.incr(key))
    except ValueError:
        # It ran out between the two calls.
        cache.set(key, 1, WINDOW_S)
        return 1
    except (RedisError, OSError):
        raise Problem("redis_away", "sign-in needs Redis, which does not answer", 503) from None


def _key(kind: str, what: str) -> str:
    return f"sign-in:{kind}:{hashlib.sha256(what.encode()).hexdigest()[:32]}"
