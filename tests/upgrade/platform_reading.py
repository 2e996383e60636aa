"""What the console knows of a database, as JSON: run as a process of its own by test_databases.py."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "platform"), str(ROOT)]
os.environ["DJANGO_SETTINGS_MODULE"] = "console.settings"

LISTS = {
    "clusters": ("clusters/", "name"),
    "topics": ("clusters/prod/topics/", "name"),
    "groups": ("clusters/prod/groups/", "name"),
    "brokers": ("clusters/prod/brokers/", "address"),
    "users": ("users/", "username"),
    "rules": ("alerts/rules/", "name"),
    "channels": ("alerts/channels/", "name"),
    "operations": ("clusters/prod/operations/", "state"),
}


def read(password: str) -> dict[str, Any]:
    from django.core.management import call_command
    from rest_framework.test import APIClient

    from clusters.models import AlertChannel
    from console.core.models import User
    from console.core.sealing import unseal

    client = APIClient(SERVER_NAME="127.0.0.1")
    admin = User.objects.get(username="admin")
    found: dict[str, Any] = {"password": admin.check_password(password)}
    # Signing in asks Redis for the throttle, and there is none here.
    client.force_login(admin)
    for name, (path, field) in LISTS.items():
        answer = client.get(f"/api/v1/{path}")
        rows = answer.json()["results"] if answer.status_code == 200 else answer.json()
        found[name] = sorted(row[field] for row in rows) if isinstance(rows, list) else rows
    found["access_control"] = client.get("/api/v1/clusters/prod/").json()["access_control"]
    found["lag"] = client.get("/api/v1/clusters/prod/groups/billing/").json()["lag"]
    found["url"] = unseal(AlertChannel.objects.get(name="pager").sealed_url)
    call_command("verify_audit", stdout=sys.stderr)
    return found


if __name__ == "__main__":
    import django

    django.setup()
    print(json.dumps(read(sys.argv[1])))
