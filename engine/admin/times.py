"""Times as operators type and read them."""

from __future__ import annotations

import argparse
import time
from datetime import datetime

_FORMATS = ("%Y-%m-%d#%H:%M:%S:%f", "%Y-%m-%d#%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y%m%d%H%M%S", "%Y-%m-%d")


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
    if text.lstrip("-").isdigit() and len(text) != 14:
        return int(text)
    for pattern in _FORMATS:
        try:
            return int(datetime.strptime(text, pattern).timestamp() * 1000)
        except ValueError:
            continue
    raise argparse.ArgumentTypeError(f"{text!r}: now, milliseconds or yyyy-MM-dd#HH:mm:ss:SSS expected")
