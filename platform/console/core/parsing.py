"""JSON of requests, by orjson: bounded in size and depth, strict, refused with 400 when it is not JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import IO, Any

import orjson
from django.conf import settings
from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser

from console.core.problems import Problem


class JsonParser(BaseParser):
    """orjson itself refuses what is nested deeper than 1,024 levels, where Python's own parser would fail."""

    media_type = "application/json"

    def parse(
        self,
        stream: IO[bytes],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        most = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        body = stream.read(most + 1)
        if len(body) > most:
            raise Problem("too_large", f"a request has {most} bytes at most", 413)
        try:
            return orjson.loads(body)
        except orjson.JSONDecodeError as error:
            raise ParseError(f"this is not JSON: {error}") from None
