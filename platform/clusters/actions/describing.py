"""What people say about a topic or a group: whose it is, what it is for, which document it is from."""

from __future__ import annotations

from typing import Any

from clusters.models import ConsumerGroup, Topic

ABOUT = ("owner", "team", "description", "labels", "document")


def say(row: Topic | ConsumerGroup, about: dict[str, Any]) -> dict[str, Any]:
    """Sets what was said, unsaved. Returns what it was and what it is, as the audit chain keeps changes."""
    said = {name: about[name] for name in ABOUT if name in about}
    before = {name: getattr(row, name) for name in said}
    for name, value in said.items():
        setattr(row, name, value)
    return {"before": before, "after": said}
