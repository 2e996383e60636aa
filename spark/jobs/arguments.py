"""What every report can be asked on its command line, checked before Spark is started.

Whatever is wrong is BadInput with one sentence: `submission` makes the one line of it. Times without a zone
are of `--time-zone`, in which hours and days are cut as well.
"""

from __future__ import annotations

import argparse
import re
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, NoReturn
from zoneinfo import ZoneInfo

from engine.errors import BadInput

__all__ = ["Asked", "Parser", "asked_of", "common_parser", "moment", "positive", "share"]

_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True, slots=True)
class Asked:
    """The arguments that all reports share."""

    stores: tuple[str, ...]
    cluster: str | None
    begin: datetime | None
    end: datetime | None
    time_zone: ZoneInfo
    run_id: str
    output: str
    progress: Path | None
    options: argparse.Namespace
    """What the report has of its own."""


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise BadInput(f"{message} (see --help)")


def common_parser(report: str, about: str, examples: str) -> Parser:
    parser = Parser(
        prog=f"spark-submit spark/jobs/{report}.py",
        description=about,
        epilog=f"examples:\n{examples}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    common = parser.add_argument_group("every report")
    common.add_argument(
        "--store",
        action="append",
        required=True,
        metavar="[CLUSTER/BROKER=]PATH",
        help="a store's root (storePathRootDir), a pattern of them, or a URI; may be given several times",
    )
    common.add_argument("--cluster", metavar="NAME", help="of stores that are not named CLUSTER/BROKER=PATH")
    common.add_argument("--from", dest="begin", metavar="TIME", help="messages stored at or after (ISO 8601)")
    common.add_argument("--to", dest="end", metavar="TIME", help="messages stored before")
    common.add_argument("--time-zone", default="UTC", metavar="ZONE", help="of hours, days and times (UTC)")
    common.add_argument("--run-id", metavar="ID", help="the name of the run's folder (made up if not given)")
    common.add_argument("--output", required=True, metavar="DIR", help="where the run's folder is put")
    common.add_argument("--progress", type=Path, metavar="FILE", help="a JSON line a second is appended here")
    return parser


def asked_of(parsed: argparse.Namespace, *, now: datetime) -> Asked:
    zone = _zone(parsed.time_zone)
    begin, end = moment(parsed.begin, zone, "--from"), moment(parsed.end, zone, "--to")
    if begin is not None and end is not None and begin >= end:
        raise BadInput(f"--to {parsed.end} is not after --from {parsed.begin}")
    run_id = parsed.run_id or f"{now:%Y%m%dT%H%M%S.%fZ}"
    if not _RUN_ID.fullmatch(run_id):
        raise BadInput(
            f"--run-id {run_id[:80]!r} is not a name of letters, digits, dots, dashes and underscores"
        )
    return Asked(
        tuple(parsed.store), parsed.cluster, begin, end, zone, run_id, parsed.output, parsed.progress, parsed
    )


def moment(text: str | None, zone: ZoneInfo, name: str) -> datetime | None:
    if text is None:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise BadInput(f"{name} {text!r} is not a time (say 2026-11-16T08:00:00)") from None
    return found if found.tzinfo is not None else found.replace(tzinfo=zone)


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise BadInput(f"--time-zone {name!r} is not a time zone (say Europe/Berlin)") from None


def positive(text: str) -> int:
    """For argparse: a whole number above zero."""
    number = _number(text, int)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above zero")
    return int(number)


def share(text: str) -> float:
    """For argparse: above 0, up to 1."""
    number = _number(text, float)
    if not 0 < number <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not above 0 and at most 1")
    return float(number)


def price(text: str) -> float:
    """For argparse: not below zero."""
    number = _number(text, float)
    if not 0 <= number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a price")
    return float(number)


def _number(text: str, kind: Any) -> Any:
    try:
        return kind(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
