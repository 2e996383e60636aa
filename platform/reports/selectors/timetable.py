"""When a schedule is due: cron expressions in a time zone. Pure, `now` passed in.

Five fields as cron reads them, besides names of days and months, `L` (last) and `#` (nth). Around a change of
the clock as Debian's cron does: what falls into the hour that is left out runs right after it, what falls
into the hour that comes twice runs once.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from zoneinfo import ZoneInfo, available_timezones

from cronsim import CronSim, CronSimError

from console.core.problems import Problem

_FIELDS = 5


def check_zone(name: str) -> None:
    if name not in available_timezones():
        raise Problem("invalid", f"there is no time zone {name[:64]!r}", 400, field="time_zone")


def check_cron(cron: str, zone: str, now: datetime) -> None:
    """Readable, and with a moment to come."""
    if next_time(cron, zone, now) is None:
        raise Problem("invalid", f"{cron!r} never comes", 400, field="cron")


def next_time(cron: str, zone: str, after: datetime) -> datetime | None:
    return next(times(cron, zone, after), None)


def times(cron: str, zone: str, after: datetime) -> Iterator[datetime]:
    """In UTC, all later than `after`."""
    if len(cron.split()) != _FIELDS:
        raise Problem(
            "invalid", "a cron expression has five fields: m h day month weekday", 400, field="cron"
        )
    try:
        for moment in CronSim(cron, after.astimezone(ZoneInfo(zone))):
            yield moment.astimezone(UTC)
    except CronSimError as error:
        raise Problem("invalid", f"{cron!r} is not a cron expression: {error}", 400, field="cron") from None
