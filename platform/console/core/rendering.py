"""JSON by orjson, with integers beyond 2**53 as strings: browsers would round them.

Half a character (a surrogate without its other half), which a caller may send and an error repeat, is a `?`.
"""

from __future__ import annotations

from typing import Any

import orjson
from django.utils.functional import Promise
from rest_framework.renderers import BaseRenderer

SAFE_INTEGER = 2**53 - 1


class JsonRenderer(BaseRenderer):
    media_type = "application/json"
    format = "json"
    charset = None

    def render(
        self, data: Any, accepted_media_type: str | None = None, renderer_context: Any = None
    ) -> bytes:
        if data is None:
            return b""
        try:
            return orjson.dumps(data, _default, orjson.OPT_STRICT_INTEGER | orjson.OPT_NON_STR_KEYS)
        except orjson.JSONEncodeError:
            return orjson.dumps(_plain(data), _default, orjson.OPT_NON_STR_KEYS)


def _default(value: Any) -> Any:
    if isinstance(value, Promise):
        return str(value)
    if isinstance(value, dict):
        return dict(value)
    if isinstance(value, (list, tuple, set, frozenset)):
        return list(value)
    return str(value)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {_plain(name): _plain(inner) for name, inner in value.items()}
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > SAFE_INTEGER:
        return str(value)
    return value
