"""Headers of topic administration on a broker."""

from __future__ import annotations

from msgspec import field

from engine.errors import BadRequest
from engine.protocol.wire import Header, Int32


class CreateTopicRequest(Header, frozen=True):
    """17, 513. Nobody reads default_topic and C++ leaves order out, so neither is required."""

    topic: str
    read_queue_nums: Int32
    write_queue_nums: Int32
    perm: Int32
    default_topic: str | None = None
    topic_filter_type: str = "SINGLE_TAG"
    topic_sys_flag: Int32 | None = None
    order: bool = False
    attributes: str | None = None
    force: bool | None = None


class DeleteTopicRequest(Header, frozen=True):
    """215."""

    topic: str


class GetTopicConfigRequest(Header, frozen=True):
    """351; `logical` asks for the static-topic mapping too."""

    topic: str
    logical: bool | None = field(default=None, name="lo")


class GetAllTopicConfigRequest(Header, frozen=True):
    """21; all absent asks for everything, else for one page of the sorted table."""

    topic_seq: Int32 | None = None
    data_version: str | None = None
    max_topic_num: Int32 | None = None


class GetAllTopicConfigResponse(Header, frozen=True):
    total_topic_num: Int32 | None = None


class GetTopicStatsInfoRequest(Header, frozen=True):
    """202."""

    topic: str


class QueryTopicConsumeByWhoRequest(Header, frozen=True):
    """300."""

    topic: str


def parse_attribute_changes(text: str | None) -> dict[str, str | None]:
    """`+k=v,+k2=v2,-k3` as {k: v, k2: v2, k3: None}: None means "remove"."""
    changes: dict[str, str | None] = {}
    for part in (text or "").split(","):
        sign, (name, equals, value) = part[:1], part[1:].partition("=")
        if not part:
            continue
        if sign not in "+-" or not name or (sign == "+") != bool(equals):
            raise BadRequest(f"the attribute {part!r} is neither +name=value nor -name", field="attributes")
        if name in changes:
            raise BadRequest(f"the attribute {name!r} is given twice", field="attributes")
        changes[name] = value if sign == "+" else None
    return changes


def format_attribute_changes(changes: dict[str, str | None]) -> str:
    return ",".join(f"-{name}" if value is None else f"+{name}={value}" for name, value in changes.items())
