"""A cluster's own secrets: made once, kept sealed with the console's key, sealed again for each of its hosts.

Only where the console's key is (web and control workers) can `seal_for_hosts` run; an agent opens the bundle
of its own host with its private key and sees no other.
"""

from __future__ import annotations

import base64
import json
import os
import secrets
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path

from cryptography.fernet import Fernet

from clusters.models import Cluster, Host, SealedBundle
from clusters.provisioning.host_keys import open_bundle, read_key, seal_for
from console.core.problems import Problem
from console.core.sealing import seal, unseal

CONSOLE_KEY = "signalbox-console"
INNER_KEY = "signalbox-cluster"


def make_secrets(cluster: Cluster) -> None:
    """On a row that is not saved yet."""
    cluster.sealed_cluster_secret = seal(base64.b64encode(os.urandom(32)).decode())
    if cluster.access_control != Cluster.AccessControl.OFF:
        for name, value in new_access_secrets().items():
            setattr(cluster, name, value)


def new_access_secrets() -> dict[str, str]:
    """Columns: the administrator, who is the console, too; what brokers sign with; their key file."""
    return {
        "access_key": CONSOLE_KEY,
        "sealed_secret_key": seal(secrets.token_urlsafe(24)),
        "sealed_inner_secret": seal(secrets.token_urlsafe(24)),
        "sealed_access_key_file": seal(Fernet.generate_key().decode()),
    }


def seal_for_hosts(cluster: Cluster, hosts: Iterable[Host], now: datetime) -> None:
    bundle = _bundle(cluster)
    for host in hosts:
        SealedBundle.objects.update_or_create(
            cluster=cluster,
            host=host,
            defaults={"sealed": seal_for(host.public_key, bundle), "sealed_at": now},
        )


def _bundle(cluster: Cluster) -> dict[str, str]:
    bundle = {"cluster_secret": unseal(cluster.sealed_cluster_secret)}
    if cluster.sealed_inner_secret:
        # Also where access control is off again, or not on yet: then brokers sign and nobody asks.
        bundle |= {
            "access_key": cluster.access_key,
            "secret_key": unseal(cluster.sealed_secret_key),
            "inner_key": INNER_KEY,
            "inner_secret": unseal(cluster.sealed_inner_secret),
            "access_key_file": unseal(cluster.sealed_access_key_file),
        }
    return bundle


def bundle_of(cluster: Cluster, host: Host, data_root: Path) -> dict[str, str]:
    """On the host itself."""
    key = read_key(data_root)
    row = SealedBundle.objects.filter(cluster=cluster, host=host).first()
    if key is None or row is None:
        raise Problem("sealed", f"there are no secrets of {cluster.name} for the host {host.name}", 409)
    return open_bundle(key, row.sealed)


def files_of(bundle: Mapping[str, str], *, is_broker: bool) -> dict[str, str]:
    """Secret files beside or above the configuration, by name."""
    if is_broker:
        files = {"cluster.secret": bundle["cluster_secret"] + "\n"}
        if "access_key_file" in bundle:
            files["access.key"] = bundle["access_key_file"] + "\n"
        return files
    if "inner_secret" not in bundle:
        return {}
    account = {"accessKey": bundle["access_key"], "secretKey": bundle["secret_key"], "admin": True}
    # JSON is YAML.
    return {"users.yml": json.dumps({"accounts": [account]}) + "\n"}


ADMINISTRATOR_FILE = "administrator.yml"


def administrator_file(bundle: Mapping[str, str], name_servers: Iterable[str]) -> str:
    """What `signalbox-admin` finds by itself: whose secret, and of which cluster."""
    return (
        "# Signs changes of this cluster (docs/access-control.md). Written by the console's agent.\n"
        f"accessKey: {bundle['access_key']}\nsecretKey: {bundle['secret_key']}\n"
        f"nameServers: {';'.join(name_servers)}\n"
    )
