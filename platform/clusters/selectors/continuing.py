"""Where a search goes on: a token that the caller hands back, signed, bound to them and to their question.

A token of another person, for another question, that was changed or is older than a day is refused, all with
the same words.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.core import signing

from console.core.problems import Problem

_SALT = "clusters.continuing"
LONGEST = timedelta(days=1)
_MOST_CHARACTERS = 64 * 1024


def question_of(cluster: str, kind: str, asked: Mapping[str, Any]) -> str:
    text = json.dumps([cluster, kind, sorted(asked.items())], default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def make_token(user_id: int, question: str, place: Any) -> str:
    return signing.dumps([user_id, question, place], salt=_SALT, compress=True)


def read_token(token: str, user_id: int, question: str, *, field: str = "continue") -> Any:
    try:
        if len(token) > _MOST_CHARACTERS:
            raise signing.BadSignature
        owner, asked, place = signing.loads(token, salt=_SALT, max_age=LONGEST)
    except (signing.BadSignature, ValueError, TypeError):
        raise _refused(field) from None
    if (owner, asked) != (user_id, question):
        raise _refused(field)
    return place


def _refused(field: str) -> Problem:
    text = "this token does not go on with this search: it is another one's, was changed, or is too old"
    return Problem("continue_token", text, 400, field=field)
