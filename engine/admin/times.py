"""Times as operators type and read them, and the options that limit messages by time."""

from __future__ import annotations

import argparse
import time
from datetime import datetime

from engine.admin.argument_types import INT64_MAX
from engine.admin.commands import Option

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
