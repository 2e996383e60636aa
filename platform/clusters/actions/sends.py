"""Sending a message, and sending a stored one again: from the stored bytes, never from what was displayed.

The audit has digests of bodies, never bodies. What a rule masks does not leave its topic by being sent again
elsewhere.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from typing import Any

from clusters.actions.reading import Reader, fetch
from clusters.gateway.addressing import ClusterAddress
from clusters.gateway.sends import Fate, Outgoing, Sent, require_topic, send
from clusters.gateway.stored import StoredMessage
from clusters.selectors.masking import Mask
from console.core import audit
from console.core.models.people import Role
from console.core.problems import Problem
from engine.protocol.names import SYSTEM_TOPICS, group_of, is_dlq_topic, is_retry_topic
from engine.protocol.properties import PROPERTY_NAMES, Property

ORIGIN_TOPIC = "SIGNALBOX_ORIGIN_TOPIC"
ORIGIN_ID = "SIGNALBOX_ORIGIN_ID"
_NO_PLACE_TO_SEND = ("rmq_sys_",)


@dataclass(frozen=True, slots=True)
class Edits:
    """What is to be different. None: as it is."""

    body: bytes | None = field(default=None, repr=False)
    tags: str | None = None
    keys: tuple[str, ...] | None = None
    properties: dict[str, str] | None = None

    def __bool__(self) -> bool:
        return any(value is not None for value in (self.body, self.tags, self.keys, self.properties))


UNCHANGED = Edits()


def do_send_message(reader: Reader, message: Outgoing) -> Sent:
    reader.require(Role.OPERATOR, message.topic)
    refuse_system_topic(message.topic)
    details = {"tags": message.tags, "keys": list(message.keys), **digest_of(message.body)}
    return _send(reader, "message.send", reader.address, message, details)


def do_resend_message(
    reader: Reader, offset_id: str, *, topic: str | None = None, edits: Edits = UNCHANGED
) -> Sent:
    """To the topic that it was sent to first, or to another one."""
    source = fetch(reader, offset_id, Role.VIEWER)
    target = topic or source.origin_topic
    reader.require(Role.OPERATOR, target)
    refuse_system_topic(target)
    refuse_leak(reader.mask(source), source, target)
    return _send(
        reader, "message.resend", reader.address, again(source, target, edits), origin_details(source, edits)
    )


def do_resend_dead_letter(reader: Reader, group: str, offset_id: str, edits: Edits) -> Sent:
    """To the group alone that could not consume it."""
    source = fetch(reader, offset_id, Role.OPERATOR)
    if not is_dlq_topic(source.topic) or group_of(source.topic) != group:
        raise Problem("not_found", f"{offset_id} is no dead letter of {group}", 404)
    message = replace(
        again(source, source.origin_topic, edits), to_group=group, origin_id=origin_id_of(source)
    )
    return _send(
        reader,
        "dead_letter.resend",
        reader.address,
        message,
        origin_details(source, edits),
        checks_topic=False,
    )


def _send(
    reader: Reader,
    action: str,
    address: ClusterAddress,
    message: Outgoing,
    details: dict[str, Any],
    *,
    checks_topic: bool = True,
) -> Sent:
    if checks_topic:
        require_topic(address, message.topic)
    with audit.attempt(
        reader.actor, action, cluster=reader.cluster.name, target=message.topic, details=details
    ) as outcome:
        sent = send(address, message)
        outcome.is_ok = {Fate.SENT: True, Fate.REFUSED: False, Fate.UNSURE: None}[sent.fate]
        outcome.details = {
            "status": sent.status,
            "msg_id": sent.msg_id,
            "offset_id": sent.offset_id,
            "detail": sent.detail,
        }
    return sent


def again(source: StoredMessage, topic: str, edits: Edits = UNCHANGED) -> Outgoing:
    """The stored bytes with the application's own properties, and where they came from. What brokers and
    clients added for the first delivery (delays, retries, transactions) is left behind."""
    if source.body is None and edits.body is None:
        raise Problem("damaged", f"the body cannot be read: {source.body_fault}", 422)
    own = {name: value for name, value in source.properties.items() if name not in PROPERTY_NAMES}
    marks = {ORIGIN_TOPIC: source.origin_topic, ORIGIN_ID: source.msg_id}
    return Outgoing(
        topic,
        source.body if edits.body is None else edits.body,  # type: ignore[arg-type]
        source.tags if edits.tags is None else edits.tags or None,
        tuple(source.keys) if edits.keys is None else edits.keys,
        (own if edits.properties is None else edits.properties) | marks,
        sharding_key=source.properties.get(Property.SHARDING_KEY),
    )


def refuse_leak(mask: Mask, source: StoredMessage, target: str) -> None:
    if mask and target not in source.topics:
        raise Problem(
            "masked", "a masking rule hides parts of this message from you: it stays in its topic", 403
        )


def refuse_system_topic(topic: str) -> None:
    is_system = topic in SYSTEM_TOPICS or topic.startswith(_NO_PLACE_TO_SEND)
    if is_system or is_retry_topic(topic) or is_dlq_topic(topic):
        raise Problem("system_topic", f"{topic} is the brokers' own", 422, field="topic")


def origin_id_of(source: StoredMessage) -> str:
    properties = source.properties
    return (
        properties.get(Property.DLQ_ORIGIN_MESSAGE_ID)
        or properties.get(Property.ORIGIN_MESSAGE_ID)
        or source.offset_id
    )


def origin_details(source: StoredMessage, edits: Edits) -> dict[str, Any]:
    details: dict[str, Any] = {"offset_id": source.offset_id, "msg_id": source.msg_id, "from": source.topic}
    details["body_before"] = digest_of(source.body or b"")["body_sha256"]
    if edits:
        after = source.body if edits.body is None else edits.body
        details["body_after"] = digest_of(after or b"")["body_sha256"]
        details["edited"] = [
            name for name in ("body", "tags", "keys", "properties") if getattr(edits, name) is not None
        ]
    return details


def digest_of(body: bytes) -> dict[str, Any]:
    return {"body_bytes": len(body), "body_sha256": hashlib.sha256(body).hexdigest()}
