"""The ids by which messages are known outside of their queue.

    offset id       hex( store host 4|16 · port int32 · commit log offset int64 )
    unique key      hex( ip 4|16 · pid int16 · salt int32 · ms of this month int32 · counter int16 )
    recall handle   base64url( "v1 topic brokerName deliverMs uniqueKey" )

Both hex ids have 32 characters (IPv4) or 56. The offset id names a place in one broker's log, so it says whom
to ask; the unique key is made by the producer before the first try and stays the same through retries. Time
and the process' identity are arguments; only the month's first moment is taken from the local time zone, as
in every other client.
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from engine.errors import BadInput
from engine.protocol.hosts import Host, pack_address, pack_host, unpack_host

_OFFSET_ID = re.compile(r"[0-9A-Fa-f]{32}|[0-9A-Fa-f]{56}")
_BASE64URL = re.compile(r"[A-Za-z0-9_-]+={0,2}")
_HANDLE_VERSION = "v1"
_MINUTE_MS = 60_000


def offset_msg_id(host: Host, commit_log_offset: int) -> str:
    if not 0 <= commit_log_offset < 1 << 63:
        raise BadInput(f"not a commit log offset: {commit_log_offset}")
    return pack_host(host).hex().upper() + f"{commit_log_offset:016X}"


def parse_offset_msg_id(text: str) -> tuple[Host, int]:
    """Broker address and commit log offset of an offset id."""
    if not _OFFSET_ID.fullmatch(text):
        raise BadInput(f"not an offset message id: {text[:80]!r}")
    packed = bytes.fromhex(text)
    host = unpack_host(packed[:-8])
    commit_log_offset = int.from_bytes(packed[-8:], "big", signed=True)
    if not 0 <= host[1] <= 0xFFFF or commit_log_offset < 0:
        raise BadInput(f"not an offset message id: {text!r}")
    return host, commit_log_offset


def local_month_start_ms(now_ms: int) -> int:
    """First millisecond of the month that holds now_ms, in the machine's time zone."""
    now = datetime.fromtimestamp(now_ms / 1000)
    return int(datetime(now.year, now.month, 1).timestamp() * 1000)


class UniqueKeys:
    """Makes unique keys for one process. 65,536 a millisecond differ; `salt` tells apart processes that share
    address and pid (containers do). One thread at a time."""

    def __init__(
        self, ip: str, pid: int, salt: int, month_start_ms: Callable[[int], int] = local_month_start_ms
    ) -> None:
        self._prefix = f"{pack_address(ip).hex().upper()}{pid & 0xFFFF:04X}{salt & 0xFFFFFFFF:08X}"
        self._find_month_start_ms = month_start_ms
        self._counter = 0
        self._minute = -1
        self._month_start_ms = 0

    def next(self, now_ms: int) -> str:
        if now_ms // _MINUTE_MS != self._minute:
            # Asked anew each minute rather than guessed: a month ends where the time zone says.
            self._minute = now_ms // _MINUTE_MS
            self._month_start_ms = self._find_month_start_ms(now_ms)
        self._counter = (self._counter + 1) & 0xFFFF
        # 31 days of milliseconds pass the int32, which wraps as it does in Java.
        month_ms = (now_ms - self._month_start_ms) & 0xFFFFFFFF
        return f"{self._prefix}{month_ms:08X}{self._counter:04X}"


@dataclass(frozen=True, slots=True)
class RecallHandle:
    """What a producer needs to call back a timed message before it is delivered."""

    topic: str
    broker_name: str
    deliver_ms: int
    uniq_key: str


def encode_recall_handle(handle: RecallHandle) -> str:
    text = f"{_HANDLE_VERSION} {handle.topic} {handle.broker_name} {handle.deliver_ms} {handle.uniq_key}"
    return urlsafe_b64encode(text.encode()).decode()


def decode_recall_handle(text: str) -> RecallHandle:
    try:
        if not _BASE64URL.fullmatch(text):
            raise ValueError("not base64url")
        padded = text.rstrip("=") + "=" * (-len(text.rstrip("=")) % 4)
        version, topic, broker_name, deliver_ms, uniq_key = urlsafe_b64decode(padded).decode().split(" ")
        if version != _HANDLE_VERSION or not deliver_ms.isdecimal():
            raise ValueError("not a version 1 handle")
        return RecallHandle(topic, broker_name, int(deliver_ms), uniq_key)
    except ValueError as error:
        raise BadInput(f"not a recall handle: {error}") from None
