"""Dead letters of a group: listing them with what is known of each, by what they have in common, as a file.

A dead letter lies in %DLQ%group. Where it came from and how often it was tried stands in its properties; why
its last try failed is known only where a consumer traced.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from clusters.actions.messages import Page, Scan, do_scan_topic
from clusters.actions.reading import Reader, Shown, note_reading, show_all
from clusters.actions.sends import origin_id_of
from clusters.gateway.messages import find_stretches, scan_stretches
from clusters.gateway.scanning import Budget, Wanted
from clusters.gateway.traces import last_codes
from clusters.models import RedriveOutcome
from clusters.selectors.masking import HIDDEN
from clusters.selectors.signatures import Bundle, Letter, bundles
from engine.protocol.names import dlq_topic

MOST_REASONS = 100
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True, slots=True)
class DeadLetter:
    shown: Shown
    origin_id: str
    reason: str | None
    redriven: str | None
    """What became of it in the last redrive that took it up."""


@dataclass(frozen=True, slots=True)
class LetterPage:
    page: Page
    letters: list[DeadLetter]


def do_list_dead_letters(
    reader: Reader, group: str, scan: Scan, token: str | None, *, with_reasons: bool, now: datetime
) -> LetterPage:
    page = do_scan_topic(reader, replace(scan, topic=dlq_topic(group)), token, now=now)
    return LetterPage(page, _letters(reader, group, page.shown, with_reasons=with_reasons))


def _letters(reader: Reader, group: str, shown: Sequence[Shown], *, with_reasons: bool) -> list[DeadLetter]:
    ids = [one.message.msg_id for one in shown[:MOST_REASONS]] if with_reasons else []
    reasons = last_codes(reader.address, ids, group) if ids else {}
    redriven = last_outcomes(reader.cluster.pk, [one.message.offset_id for one in shown])
    return [
        DeadLetter(
            one,
            origin_id_of(one.message),
            reasons.get(one.message.msg_id),
            redriven.get(one.message.offset_id),
        )
        for one in shown
    ]


def last_outcomes(cluster_id: int, offset_ids: list[str]) -> dict[str, str]:
    rows = RedriveOutcome.objects.filter(redrive__cluster_id=cluster_id, offset_id__in=offset_ids)
    kept = rows.exclude(state=RedriveOutcome.State.SKIPPED).order_by("pk")
    return dict(kept.values_list("offset_id", "state"))


@dataclass(frozen=True, slots=True)
class Triage:
    bundles: list[Bundle]
    scanned: int
    about: int
    is_complete: bool
    reasons_for: int
    """Of how many letters the trace was looked up."""
    problems: list[str]


def do_group_dead_letters(
    reader: Reader, group: str, budget: Budget, *, with_reasons: bool, now: datetime
) -> Triage:
    """The newest first, as far as the budget goes."""
    topic = dlq_topic(group)
    address = reader.address
    stretches = find_stretches(address, [topic], 0, None)
    scanned = scan_stretches(address, stretches, Wanted(), budget, backwards=True)
    shown = show_all(reader, scanned.found, 0)
    note_reading(reader, shown, target=topic, how="signatures", now=now)
    ids = [one.message.msg_id for one in shown[:MOST_REASONS]] if with_reasons else []
    reasons = last_codes(address, ids, group) if ids else {}
    return Triage(
        bundles(_letter(one, reasons.get(one.message.msg_id)) for one in shown),
        scanned.scanned,
        sum(stretch.count for stretch in stretches),
        not scanned.left,
        len(ids),
        scanned.problems,
    )


def _letter(shown: Shown, reason: str | None) -> Letter:
    message = shown.message
    key = shown.keys[0] if shown.keys and shown.keys[0] != HIDDEN else None
    return Letter(message.offset_id, message.origin_topic, shown.tags, key, reason, message.stored_ms)


@dataclass(frozen=True, slots=True)
class Export:
    letters: list[Shown]
    about: int
    is_complete: bool


def do_export_dead_letters(
    reader: Reader, group: str, budget: Budget, most_bytes: int, *, now: datetime
) -> Export:
    """The oldest first, as far as the budget goes; what is masked stays masked."""
    topic = dlq_topic(group)
    stretches = find_stretches(reader.address, [topic], 0, None)
    scanned = scan_stretches(reader.address, stretches, Wanted(), budget)
    shown = show_all(reader, scanned.found, most_bytes)
    note_reading(reader, shown, target=topic, how="export", now=now)
    return Export(shown, sum(stretch.count for stretch in stretches), not scanned.left)


COLUMNS = (
    "offset_id",
    "msg_id",
    "origin_topic",
    "stored_at_ms",
    "tries",
    "tags",
    "keys",
    "properties",
    "body_kind",
    "body",
)


def as_csv(export: Export) -> str:
    """Pure. A file that is not complete says so in its last row."""
    rows: list[Iterable[str]] = [_cells(shown) for shown in export.letters]
    if not export.is_complete:
        rows.append([f"incomplete: {len(export.letters)} of about {export.about}"])
    return csv_of(COLUMNS, rows)


def csv_of(columns: Sequence[str], rows: Iterable[Iterable[str]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(columns)
    writer.writerows([harmless(cell) for cell in row] for row in rows)
    return out.getvalue()


def _cells(shown: Shown) -> Iterable[str]:
    message = shown.message
    yield from (message.offset_id, message.msg_id, message.origin_topic)
    yield from (str(message.stored_ms), str(message.reconsume_times), shown.tags or "", " ".join(shown.keys))
    yield " ".join(f"{name}={value}" for name, value in sorted(shown.properties.items()))
    yield shown.body.kind
    yield shown.body.text if shown.body.text is not None else shown.body.base64 or ""


def harmless(cell: str) -> str:
    """Spreadsheets run cells that begin like a formula."""
    return f"'{cell}" if cell.startswith(_FORMULA) else cell
