"""Types of arguments: from the operator's text to a value, or one line that names what was expected."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from datetime import datetime

from engine.admin.commands import Option
from engine.errors import BadRequest
from engine.protocol.headers.topics import parse_attribute_changes

INT32_MAX = (1 << 31) - 1
INT64_MAX = (1 << 63) - 1


def truth(text: str) -> bool:
    """mqadmin's booleans are words."""
    if text.lower() not in ("true", "false"):
        raise argparse.ArgumentTypeError(f"{text!r}: true or false expected")
    return text.lower() == "true"


def number(low: int, high: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        digits = text.removeprefix("-")
        if not (digits.isascii() and digits.isdigit() and low <= int(text) <= high):
            raise argparse.ArgumentTypeError(f"{text!r}: a whole number from {low} to {high} expected")
        return int(text)

    return parse


whole_number = number(-INT32_MAX - 1, INT32_MAX)
"""For settings whose limits the broker knows."""
count = number(1, INT32_MAX)
id_number = number(0, INT32_MAX)
queue_offset = number(0, INT64_MAX)


def comma_list(text: str) -> list[str]:
    """`a, b` as [a, b]; at least one."""
    parts = [part.strip() for part in text.split(",")]
    if not any(parts):
        raise argparse.ArgumentTypeError(f"{text!r}: names separated by commas expected")
    return [part for part in parts if part]


def attribute_changes(text: str) -> dict[str, str | None]:
    try:
        return parse_attribute_changes(text)
    except BadRequest as error:
        raise argparse.ArgumentTypeError(error.text) from None


def queue_counts(text: str) -> str:
    """`broker-a:4;broker-b:4`, as clients of ordered topics read it."""
    for part in text.split(";"):
        name, _, queues = part.partition(":")
        if not name or not (queues.isascii() and queues.isdigit()):
            raise argparse.ArgumentTypeError(f"{text!r}: BROKER_NAME:QUEUES;… expected")
    return text


_FORMATS = ("%Y-%m-%d#%H:%M:%S:%f", "%Y-%m-%d#%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y%m%d%H%M%S", "%Y-%m-%d")
TIME_HELP = "now, milliseconds or yyyy-MM-dd#HH:mm:ss:SSS"


def shown_time(timestamp_ms: int) -> str:
    """Local time to the millisecond; a dash where there is none."""
    if timestamp_ms <= 0:
        return "-"
    try:
        moment = datetime.fromtimestamp(timestamp_ms / 1000)
    except (ValueError, OverflowError, OSError):
        return str(timestamp_ms)
    return moment.strftime("%Y-%m-%d %H:%M:%S") + f",{timestamp_ms % 1000:03d}"


def timestamp(text: str) -> int:
    """`now`, milliseconds, or a local time such as 2026-01-31#23:59:59:000 (mqadmin's form)."""
    if text == "now":
        return time.time_ns() // 1_000_000
    digits = text.removeprefix("-")
    if digits.isascii() and digits.isdigit() and len(text) != 14 and abs(int(text)) <= INT64_MAX:
        return int(text)
    for pattern in _FORMATS:
        try:
            return int(datetime.strptime(text, pattern).timestamp() * 1000)
        except (ValueError, OverflowError):
            continue
    raise argparse.ArgumentTypeError(f"{text!r}: {TIME_HELP} expected")


def time_options(begin: str = "b", end: str = "e") -> tuple[Option, Option]:
    return (
        Option(begin, "beginTimestamp", f"stored at or after: {TIME_HELP}", "TIME", timestamp, 0),
        Option(end, "endTimestamp", f"stored at or before: {TIME_HELP}", "TIME", timestamp, INT64_MAX),
    )
