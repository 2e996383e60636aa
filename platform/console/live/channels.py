"""What can be subscribed to, and who may: names of channels, read and judged. Pure.

cluster/{c}                 brokers and totals                     a grant on all names of the cluster
groups/{c}?names=a,b        these groups' figures                  a grant on each name
topics/{c}?names=a,b        these topics' figures                  a grant on each name
routing/{c}?names=a,b       who sends to and reads these topics    a grant on each name
toplag/{c}                  the groups furthest behind             shows what the grants show
operations/{c}              operations of the cluster              a grant on all names of the cluster
operation/{id}              one operation with its steps           the same, of its cluster
jobs/{c}                    search jobs and redrives               one's own; all with an admin's grant
reports/{c}                 runs of reports and their progress     a grant on all names of the cluster
alerts                      open alerts                            shows what the grants show
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from urllib.parse import parse_qs, unquote

from console.core.models.people import Role
from console.core.problems import Problem
from console.core.rights import Grants

MOST_NAMES = 200
LONGEST = 16_384
NAMED = frozenset(("groups", "topics", "routing"))
WHOLE = frozenset(("cluster", "operations", "reports"))
PARTIAL = frozenset(("toplag", "jobs"))


@dataclass(frozen=True, slots=True)
class Channel:
    text: str
    """As the client wrote it: it is told by the same name."""
    kind: str
    cluster: str = ""
    names: frozenset[str] = frozenset()
    operation_id: str = ""

    @property
    def event_channel(self) -> str:
        """What is published on: names are chosen from it here."""
        return f"{self.kind}/{self.cluster or self.operation_id}" if self.kind != "alerts" else "alerts"


def parse(text: object) -> Channel:
    if not isinstance(text, str) or len(text) > LONGEST:
        raise Problem("invalid_channel", "a channel is a text such as groups/orders?names=a,b", 400)
    path, _, query = text.partition("?")
    kind, _, rest = path.partition("/")
    if kind == "alerts" and not rest:
        return Channel(text, kind)
    if kind == "operation":
        return Channel(text, kind, operation_id=_uuid(rest))
    if kind in NAMED | WHOLE | PARTIAL and rest and "/" not in rest:
        return Channel(text, kind, unquote(rest), _names(query) if kind in NAMED else frozenset())
    raise Problem("invalid_channel", f"there is no channel {text[:80]!r}", 404)


def may_subscribe(grants: Grants, channel: Channel) -> bool:
    """Of an operation its cluster is asked about when it is known."""
    if channel.kind in ("alerts", "operation"):
        return True
    if not grants.sees(channel.cluster):
        return False
    if channel.kind in WHOLE:
        return grants.may(Role.VIEWER, channel.cluster)
    return all(grants.may(Role.VIEWER, channel.cluster, name) for name in channel.names)


def _uuid(text: str) -> str:
    try:
        return str(uuid.UUID(text))
    except ValueError:
        raise Problem("invalid_channel", "an operation's id is a UUID", 400) from None


def _names(query: str) -> frozenset[str]:
    listed = parse_qs(query).get("names", [""])[0].split(",")
    names = frozenset(name for name in listed if name)
    if not names or len(names) > MOST_NAMES:
        raise Problem("invalid_channel", f"names are 1 to {MOST_NAMES}, separated by commas", 400)
    return names
