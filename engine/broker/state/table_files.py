"""Names of files below config/ that many features save, and the type of who waits for a save. Pure."""

from __future__ import annotations

from collections.abc import Callable

TOPICS_FILE = "topics.json"
GROUPS_FILE = "subscriptionGroup.json"
OFFSETS_FILE = "consumerOffset.json"

Done = Callable[[OSError | None], None]
"""Called once the file is on disk, or with the error that kept it from there."""
