"""Showing messages: what somebody may see of them, and the audit row that says they looked.

Reads of bodies are noted before they are answered, one row per request. A message whose topic they may not
see does not exist for them: an id alone says nothing about whose it is.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from clusters.gateway.addressing import ClusterAddress, address_of
from clusters.gateway.messages import by_offset_id
from clusters.gateway.stored import StoredMessage
from clusters.models import Cluster
from clusters.selectors import bodies
from clusters.selectors.bodies import BodyView
from clusters.selectors.masking import Mask, Masks, masked_body, masked_properties, role_on
from console.core import audit
from console.core.actors import Actor
from console.core.models.people import Role
from console.core.problems import Problem, not_found
from console.core.rights import Grants
from engine.protocol.properties import Property

PREVIEW_BYTES = 512
DETAIL_BYTES = 64 * 1024
READ = "message.read"
REVEAL = "message.reveal"


@dataclass(frozen=True, slots=True)
class Reader:
    """Who looks, and at which cluster."""

    cluster: Cluster
    grants: Grants
    actor: Actor
    masks: Masks = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "masks", Masks(self.cluster.name, self.grants))

    @property
    def user_id(self) -> int:
        return self.actor.user_id or 0

    @property
    def address(self) -> ClusterAddress:
        return address_of(self.cluster)

    def role(self, topic: str) -> int:
        return role_on(self.grants, self.cluster.name, topic)

    def require(self, role: int, topic: str) -> None:
        if self.role(topic) < role:
            raise Problem("permission_denied", f"you may not do this to {topic!r}", 403)

    def mask(self, message: StoredMessage) -> Mask:
        return self.masks.of(*message.topics)


@dataclass(frozen=True, slots=True)
class Shown:
    """A message as one caller sees it."""

    message: StoredMessage
    properties: dict[str, str]
    body: BodyView
    is_masked: bool

    @property
    def keys(self) -> list[str]:
        return self.properties.get(Property.KEYS, "").split()

    @property
    def tags(self) -> str | None:
        return self.properties.get(Property.TAGS)


def show(message: StoredMessage, mask: Mask, most_bytes: int) -> Shown:
    body = masked_body(message.body, mask)
    if message.body is None:
        view = bodies.damaged(message.body_fault)
    elif body is None:
        view = bodies.masked(len(message.body))
    else:
        view = bodies.view_of(body, most_bytes)
    is_masked = (message.body is not None and body != message.body) or bool(
        mask.properties & message.properties.keys()
    )
    return Shown(message, masked_properties(message.properties, mask), view, is_masked)


def show_all(
    reader: Reader, messages: Iterable[StoredMessage], most_bytes: int = PREVIEW_BYTES
) -> list[Shown]:
    return [show(message, reader.mask(message), most_bytes) for message in messages]


def note_reading(
    reader: Reader, shown: list[Shown], *, target: str, how: str, now: datetime, **details: Any
) -> None:
    """One row per request, with counts; none when nothing was shown."""
    if shown:
        counts = {"messages": len(shown), "masked": sum(one.is_masked for one in shown)}
        audit.record(
            reader.actor,
            READ,
            cluster=reader.cluster.name,
            target=target,
            details={"how": how, **counts, **details},
            now=now,
        )


def fetch(reader: Reader, offset_id: str, role: int = Role.VIEWER) -> StoredMessage:
    """The message, if they have at least that role on its topic."""
    message = by_offset_id(reader.address, offset_id)
    if reader.role(message.topic) < Role.VIEWER:
        raise not_found("message", offset_id)
    reader.require(role, message.topic)
    return message


def do_show_message(reader: Reader, offset_id: str, *, now: datetime) -> Shown:
    message = fetch(reader, offset_id)
    shown = show(message, reader.mask(message), DETAIL_BYTES)
    note_reading(reader, [shown], target=message.topic, how="id", now=now, offset_id=offset_id)
    return shown


def do_download_body(reader: Reader, offset_id: str, *, now: datetime) -> bytes:
    """All of it, as far as they may see it."""
    message = fetch(reader, offset_id)
    mask = reader.mask(message)
    if message.body is None:
        raise Problem("damaged", f"the body cannot be read: {message.body_fault}", 422)
    body = masked_body(message.body, mask)
    if body is None:
        raise Problem("masked", "a masking rule hides this body from you", 403)
    shown = show(message, mask, 0)
    note_reading(
        reader, [shown], target=message.topic, how="download", now=now, offset_id=offset_id, bytes=len(body)
    )
    return body


def do_reveal_message(reader: Reader, offset_id: str, reason: str, *, now: datetime) -> Shown:
    """Without its masks, for who may and says why."""
    message = fetch(reader, offset_id)
    mask = reader.mask(message)
    if any(reader.role(topic) < mask.reveal_role for topic in message.topics):
        raise Problem("permission_denied", "your role may not reveal what this rule masks", 403)
    audit.record(
        reader.actor,
        REVEAL,
        cluster=reader.cluster.name,
        target=message.topic,
        details={"offset_id": offset_id, "msg_id": message.msg_id, "reason": reason},
        now=now,
    )
    return show(message, Mask(), DETAIL_BYTES)
