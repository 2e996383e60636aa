"""From the stores that a run names to the words that its job gets. On the host that runs it.

A managed cluster's stores are named by broker and member: the path is built here, from rows and checked names
below a host's own data root. An attached cluster's are paths that somebody typed: they count only below the
folders or addresses that this host's environment allows, after links have been followed.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from clusters.models import Broker, Cluster, Host
from clusters.provisioning.folders import folder_of

MOST_STORES = 256


class StoreRefused(Exception):
    """Why a store is not read, in a sentence."""


def store_words(
    cluster: Cluster, stores: Sequence[Mapping[str, Any]], host: Host, roots: Sequence[str]
) -> list[str]:
    """As `--store` takes them."""
    words: list[str] = []
    for store in stores:
        if "path" in store:
            words += [_word(cluster, store, path) for path in permitted(str(store["path"]), roots)]
        else:
            words.append(_word(cluster, store, managed_path(cluster, store, host)))
    if not words:
        raise StoreRefused(f"no store of {cluster.name} is named")
    if len(words) > MOST_STORES:
        raise StoreRefused(f"one run reads {MOST_STORES} stores at most, not {len(words)}")
    return words


def _word(cluster: Cluster, store: Mapping[str, Any], path: str) -> str:
    broker = store.get("broker")
    return f"{cluster.name}/{broker}={path}" if broker else path


def managed_path(cluster: Cluster, store: Mapping[str, Any], host: Host) -> str:
    rows = Broker.objects.select_related("host", "group")
    broker = rows.filter(
        group__cluster=cluster, group__name=store.get("broker"), member=store.get("member")
    ).first()
    if broker is None:
        raise StoreRefused(f"there is no broker {store.get('broker')}-{store.get('member')} any more")
    path = folder_of(Path(broker.host.data_root), cluster.name, cluster.pk, broker.label).path / "store"
    if not path.is_dir():
        raise StoreRefused(f"the store of {broker.label} is not on the host {host.name}")
    return str(path)


def permitted(path: str, roots: Sequence[str]) -> list[str]:
    """What the path or pattern names, if all of it may be read."""
    if "://" in path:
        if not is_below_address(path, roots):
            raise StoreRefused(f"this host reads no stores at {path} (SIGNALBOX_STORES)")
        return [path]
    found = sorted(glob.glob(path)) if glob.has_magic(path) else [path]
    if not found:
        raise StoreRefused(f"nothing is at {path}")
    for each in found:
        if not is_below(each, roots):
            raise StoreRefused(f"this host reads no stores at {each} (SIGNALBOX_STORES)")
        if not Path(each).is_dir():
            raise StoreRefused(f"{each} is not a directory")
    return found


def is_below(path: str, roots: Sequence[str]) -> bool:
    """Links are followed first: one that leads out of an allowed folder leads nowhere."""
    real = os.path.realpath(path)
    return any(os.path.commonpath([real, root]) == root for root in _folders(roots))


def _folders(roots: Sequence[str]) -> Iterator[str]:
    return (os.path.realpath(root) for root in roots if root.startswith("/"))


def is_below_address(address: str, roots: Sequence[str]) -> bool:
    if ".." in address.split("/") or any(char in address for char in "*?[]"):
        return False
    return any(
        address == root or address.startswith(root.rstrip("/") + "/") for root in roots if "://" in root
    )
