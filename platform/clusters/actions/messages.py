"""Finding messages while the caller waits: by id, by key, by looking through a topic, along one queue, at its
end. Every answer says how far it looked, and hands out a token to go on with.
"""

from __future__ import annotations

from dataclasses import asdict, astuple, dataclass, field
from datetime import datetime
from typing import Any

from clusters.actions.reading import Reader, Shown, note_reading, show_all
from clusters.gateway import messages as gateway
from clusters.gateway.scanning import END, FOUND_ENOUGH, Budget, Scanned, Stretch, Wanted
from clusters.gateway.stored import StoredMessage
from clusters.selectors.continuing import make_token, question_of, read_token
from clusters.selectors.masking import Mask
from console.core.models.people import Role
from console.core.problems import Problem
from engine.protocol.properties import Property
from engine.protocol.sql92 import sql_filter

PAGE = 64
"""What one question by key brings from each broker."""
MOST_TOKEN_QUEUES = 1024


@dataclass(frozen=True, slots=True)
class Page:
    shown: list[Shown]
    scanned: int | None = None
    """In all requests of this search together. None: an index was asked, nothing was looked through."""
    about: int | None = None
    stopped: str = END
    token: str | None = None
    problems: list[str] = field(default_factory=list)
    withheld: int = 0

    @property
    def is_complete(self) -> bool:
        return self.token is None and not self.problems and not self.withheld

    @property
    def note(self) -> str:
        return _note(self)


def _note(page: Page) -> str:
    parts = list(page.problems)
    if page.withheld:
        parts.append(f"{page.withheld} messages of masked topics were not searched")
    if page.scanned is not None:
        looked = f"scanned {page.scanned} of about {page.about}"
        parts.insert(0, f"{looked}, stopped: continue?" if page.token else f"{looked}, nothing is left")
    elif page.token:
        parts.insert(0, "there are more: continue?")
    return "; ".join(parts)


@dataclass(frozen=True, slots=True)
class Scan:
    topic: str
    wanted: Wanted
    budget: Budget
    newest_first: bool


def do_scan_topic(reader: Reader, scan: Scan, token: str | None, *, now: datetime) -> Page:
    reader.require(Role.VIEWER, scan.topic)
    refuse_hidden(reader.masks.of(scan.topic), scan.wanted)
    asked = asdict(scan.wanted) | {"newest_first": scan.newest_first}
    question = question_of(reader.cluster.name, f"scan {scan.topic}", asked)
    address = reader.address
    if token is None:
        to_ms = scan.wanted.to_ms if scan.wanted.to_ms < Wanted().to_ms else None
        stretches = gateway.find_stretches(address, [scan.topic], scan.wanted.from_ms, to_ms)
        before, about = 0, sum(stretch.count for stretch in stretches)
    else:
        before, about, kept = read_token(token, reader.user_id, question)
        stretches = [Stretch(scan.topic, *place) for place in kept]
    scanned = gateway.scan_stretches(
        address,
        stretches,
        scan.wanted,
        scan.budget,
        backwards=scan.newest_first,
        is_hidden=lambda message: hides(reader.mask(message), scan.wanted),
    )
    shown = show_all(reader, scanned.found)
    note_reading(reader, shown, target=scan.topic, how="scan", now=now, scanned=scanned.scanned)
    place = (before + scanned.scanned, about, [astuple(stretch)[1:] for stretch in scanned.left])
    following = make_token(reader.user_id, question, place) if scanned.left else None
    return Page(
        shown,
        before + scanned.scanned,
        about,
        scanned.stopped,
        following,
        scanned.problems,
        scanned.withheld,
    )


def refuse_hidden(mask: Mask, wanted: Wanted) -> None:
    """Searching in what one may not see would tell it, question by question."""
    if hides(mask, wanted):
        raise Problem("masked", "a masking rule hides from you what this would search in", 403)


def hides(mask: Mask, wanted: Wanted) -> bool:
    searched = {
        wanted.property_name,
        Property.KEYS if wanted.key else None,
        Property.TAGS if wanted.tag else None,
    }
    if wanted.sql is not None:
        searched |= sql_filter(wanted.sql).names
    return (wanted.body is not None and mask.touches_body) or bool(mask.properties & (searched - {None}))


@dataclass(frozen=True, slots=True)
class KeySearch:
    topic: str
    key: str
    from_ms: int
    to_ms: int | None


def do_find_by_key(reader: Reader, search: KeySearch, token: str | None, *, now: datetime) -> Page:
    reader.require(Role.VIEWER, search.topic)
    refuse_hidden(reader.masks.of(search.topic), Wanted(key=search.key))
    question = question_of(reader.cluster.name, "key", asdict(search))
    after = None
    if token is not None:
        after = tuple((name, place) for name, place in read_token(token, reader.user_id, question))
    page = gateway.by_key(
        reader.address, search.topic, search.key, after=after, from_ms=search.from_ms, to_ms=search.to_ms
    )
    visible, withheld = _searchable(reader, page.messages, Wanted(key=search.key))
    shown = show_all(reader, visible)
    note_reading(reader, shown, target=search.topic, how="key", now=now)
    following = page.following and make_token(reader.user_id, question, page.following)
    problems = ["64 were found and this make of broker cannot go on: narrow the time"] if page.is_cut else []
    return Page(
        shown,
        stopped=FOUND_ENOUGH if following else END,
        token=following,
        problems=problems,
        withheld=withheld,
    )


def _searchable(
    reader: Reader, messages: list[StoredMessage], wanted: Wanted
) -> tuple[list[StoredMessage], int]:
    kept = [message for message in messages if not hides(reader.mask(message), wanted)]
    return kept, len(messages) - len(kept)


def do_find_by_id(reader: Reader, topic: str, msg_id: str, *, now: datetime) -> Page:
    """By the producer's id: several when it was sent again."""
    reader.require(Role.VIEWER, topic)
    shown = show_all(reader, gateway.by_unique_key(reader.address, topic, msg_id))
    note_reading(reader, shown, target=topic, how="unique_key", now=now)
    return Page(shown)


@dataclass(frozen=True, slots=True)
class QueuePlace:
    topic: str
    broker: str
    queue: int
    offset: int | None
    """None: the end when going back, the beginning when going on."""
    limit: int
    backwards: bool


@dataclass(frozen=True, slots=True)
class QueuePage:
    shown: list[Shown]
    low: int
    high: int
    previous: int | None
    """The offset to go back from, or on from; None: nothing is there now."""
    following: int | None
    problems: list[str]


def do_browse_queue(reader: Reader, place: QueuePlace, *, now: datetime) -> QueuePage:
    reader.require(Role.VIEWER, place.topic)
    address = reader.address
    kept = gateway.queue_stretch(address, place.topic, place.broker, place.queue)
    low, high = _window(kept, place)
    stretch = Stretch(place.topic, place.broker, place.queue, low, high)
    scanned = gateway.scan_stretches(
        address, [stretch], Wanted(), Budget(place.limit, place.limit, 5), backwards=place.backwards
    )
    shown = show_all(reader, sorted(scanned.found, key=lambda message: message.queue_offset))
    note_reading(reader, shown, target=place.topic, how="queue", now=now)
    first, last = _ends(scanned, low, high, backwards=place.backwards)
    return QueuePage(
        shown,
        kept.low,
        kept.high,
        first if first > kept.low else None,
        last if last < kept.high else None,
        scanned.problems,
    )


def _window(kept: Stretch, place: QueuePlace) -> tuple[int, int]:
    if place.backwards:
        return kept.low, min(kept.high, kept.high if place.offset is None else place.offset)
    return max(kept.low, place.offset or 0), kept.high


def _ends(scanned: Scanned, low: int, high: int, *, backwards: bool) -> tuple[int, int]:
    """Before which, and from which on, the neighbours are."""
    left = scanned.left[0] if scanned.left else None
    if backwards:
        return (left.high if left else low), high
    return low, (left.low if left else high)


@dataclass(frozen=True, slots=True)
class Following:
    shown: list[Shown]
    after: str
    problems: list[str]


def do_follow_topic(
    reader: Reader, topic: str, tag: str, after: str | None, *, most: int, wait_s: float, now: datetime
) -> Following:
    """Without `after`: from the end on, nothing yet."""
    reader.require(Role.VIEWER, topic)
    if tag != "*":
        refuse_hidden(reader.masks.of(topic), Wanted(tag=tag))
    question = question_of(reader.cluster.name, "tail", {"topic": topic, "tag": tag})
    if after is None:
        ends = gateway.ends_of(reader.address, topic)
        return Following([], _tail_token(reader, question, ends), [])
    places = {
        (broker, queue): offset
        for broker, queue, offset in read_token(after, reader.user_id, question, field="after")
    }
    found, places, problems = gateway.follow(reader.address, topic, places, tag=tag, most=most, wait_s=wait_s)
    shown = show_all(reader, found)
    note_reading(reader, shown, target=topic, how="tail", now=now)
    return Following(shown, _tail_token(reader, question, places), problems)


def _tail_token(reader: Reader, question: str, ends: gateway.Ends) -> str:
    places: list[Any] = [[broker, queue, offset] for (broker, queue), offset in ends.items()]
    return make_token(reader.user_id, question, places)
