"""When a server's certificate ends, and when the log says so.

`current_notice` is pure: there is something to say 30, 7 and 1 days before the end, and when it has passed.
`ExpiryWatch` logs it once for each threshold, day and certificate: a long-running daemon repeats itself
daily, and a new certificate is judged at once. Loop thread only.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import UTC, datetime

log = logging.getLogger(__name__)

DAY_MS = 86_400_000
THRESHOLD_DAYS = (0, 1, 7, 30)
NOT_AFTER_METRIC = "signalbox_tls_certificate_not_after_seconds"
NOT_AFTER_HELP = "When the certificate of the TLS port ends, in seconds since 1970"


@dataclass(frozen=True, slots=True)
class Notice:
    """`threshold_days` is 0 when the certificate has ended. Two notices that are equal are logged once."""

    not_after_ms: int
    threshold_days: int
    day: int

    @property
    def text(self) -> str:
        ends = datetime.fromtimestamp(self.not_after_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M UTC")
        if self.threshold_days == 0:
            return (
                f"the TLS certificate expired on {ends}: clients that verify it refuse to connect; replace it"
            )
        days = "1 day" if self.threshold_days == 1 else f"{self.threshold_days} days"
        return f"the TLS certificate expires on {ends}, in less than {days}: replace it before then"


def current_notice(not_after_ms: int, now_ms: int) -> Notice | None:
    """What there is to say about a certificate now; None: it is good for long enough."""
    left_ms = not_after_ms - now_ms
    for days in THRESHOLD_DAYS:
        if left_ms <= days * DAY_MS:
            return Notice(not_after_ms, days, now_ms // DAY_MS)
    return None


def read_not_after_ms(path: str) -> int | None:
    """The end of the first certificate of a PEM file, which is the server's own; None: it cannot be told."""
    from cryptography import x509

    try:
        with open(path, "rb") as file:
            chain = x509.load_pem_x509_certificates(file.read())
    except (OSError, ValueError):
        return None
    return int(chain[0].not_valid_after_utc.timestamp() * 1000)


class ExpiryWatch:
    def __init__(self) -> None:
        self._logged: Notice | None = None

    def look(self, not_after_ms: int | None, now_ms: int) -> None:
        notice = None if not_after_ms is None else current_notice(not_after_ms, now_ms)
        if notice is None or notice == self._logged:
            return
        self._logged = notice
        log.warning("%s", notice.text)
