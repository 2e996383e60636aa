"""Whose topics and groups are, as the console's rows say, in a file for the usage report's `--labels`."""

from __future__ import annotations

from pathlib import Path

import orjson

from clusters.models import Cluster, ConsumerGroup, Topic


def write_teams(cluster: Cluster, folder: Path) -> list[str]:
    """The words that name the file; none when no team is known."""
    found = {
        "topics": dict(Topic.objects.filter(cluster=cluster).exclude(team="").values_list("name", "team")),
        "groups": dict(
            ConsumerGroup.objects.filter(cluster=cluster).exclude(team="").values_list("name", "team")
        ),
    }
    if not any(found.values()):
        return []
    file = folder / "labels.json"
    file.write_bytes(orjson.dumps(found))
    return [f"--labels={file}"]
