"""A body as JSON can carry it: its kind, and as much of it as was asked for. Pure.

    json    UTF-8 that parses as an object or a list     text
    text    UTF-8 without control characters             text
    binary  anything else                                base64

Text is text: nothing here makes HTML, and pages show it as text.
"""

from __future__ import annotations

import base64
import json
import re
from dataclasses import dataclass

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_MOST_PARSED_BYTES = 1024 * 1024
"""A larger body is not parsed to find out whether it is JSON: it is told by how it begins and ends."""


@dataclass(frozen=True, slots=True)
class BodyView:
    kind: str
    """json, text, binary, damaged or masked."""
    size: int | None
    """Of the whole body, decompressed; None when that failed."""
    is_cut: bool = False
    text: str | None = None
    base64: str | None = None
    detail: str = ""


def kind_of(body: bytes) -> str:
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return "binary"
    if _CONTROL.search(text):
        return "binary"
    return "json" if _is_json(text) else "text"


def view_of(body: bytes, most_bytes: int) -> BodyView:
    kind = kind_of(body)
    shown = body[:most_bytes]
    is_cut = len(body) > most_bytes
    if kind == "binary":
        return BodyView(kind, len(body), is_cut, base64=base64.b64encode(shown).decode())
    # A character that the cut went through is left out.
    return BodyView(kind, len(body), is_cut, text=shown.decode(errors="ignore"))


def damaged(detail: str) -> BodyView:
    return BodyView("damaged", None, detail=detail)


def masked(size: int | None) -> BodyView:
    return BodyView("masked", size, detail="a masking rule hides the body from you")


def _is_json(text: str) -> bool:
    stripped = text.strip()
    if stripped[:1] + stripped[-1:] not in ("{}", "[]"):
        return False
    if len(text) > _MOST_PARSED_BYTES:
        return True
    try:
        json.loads(stripped)
    except (ValueError, RecursionError):
        return False
    return True
