"""Which stores are meant: texts of the caller become stores, each with a cluster, a broker and a place.

    /data/store                      a store root: a folder with `commitlog/` (RocketMQ's storePathRootDir)
    /data/*/store                    every folder that fits
    s3://archive/broker-a/commitlog  a folder of segments alone: what was archived
    east/broker-a=/data/store        the same, and whose it is

Without a name the broker is called as its folder is (a folder called `store` as the one above it), and the
cluster as its messages say (brokers note it in every message), or as the caller says for all of them.
Nothing here reads messages but the first few, for that name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from engine.errors import BadInput, CorruptRecord
from engine.protocol.properties import Property
from engine.protocol.records import decode_record
from spark.sources.files import Entry, File, expand, inside, listed
from spark.sources.segments import Segment, find_segments

__all__ = ["UNKNOWN_CLUSTER", "Store", "find_stores", "store_texts"]

UNKNOWN_CLUSTER = "unknown"
_NAMED = re.compile(r"([^/=:\s]+)/([^/=:\s]+)=(.+)")
_LOOK_BYTES = 256 << 10
_LOOK_RECORDS = 50


@dataclass(frozen=True, slots=True)
class Store:
    cluster: str
    broker: str
    place: str
    log_place: str
    """Where the segments are: `place/commitlog`, or the place itself for archived segments."""
    is_named: bool = False
    """Whether the caller said whose it is."""

    @property
    def key(self) -> str:
        """What stays the same when the store is read again tomorrow, or another replica of it."""
        return f"{self.cluster}/{self.broker}" if self.is_named else self.place

    @property
    def is_archive(self) -> bool:
        return self.log_place == self.place


def store_texts(options: Mapping[str, str]) -> list[str]:
    """What a reader was told: `load(path)`, `load([path, …])`, or the option `stores`, a list with commas."""
    texts: list[str] = []
    if options.get("paths"):
        texts += json.loads(options["paths"])
    for name in ("path", "stores"):
        texts += re.split(r"[,\n]", options.get(name) or "")
    texts = [text.strip() for text in texts if text.strip()]
    if not texts:
        raise BadInput('no store was named: load("…") or option("stores", "…")')
    return texts


def find_stores(texts: Iterable[str], cluster: str = "") -> tuple[Store, ...]:
    """Every store that the texts name, each once, in their order."""
    found: dict[str, Store] = {}
    for text in texts:
        named = _NAMED.fullmatch(text.strip())
        places = expand(named[3] if named else text)
        if not places:
            raise BadInput(f"no store fits {text}")
        for place in places:
            names = (named[1], named[2]) if named else None
            found.setdefault(place, _open_store(place, names, cluster))
    return tuple(found.values())


def _open_store(place: str, names: tuple[str, str] | None, cluster: str) -> Store:
    entries = listed(place)
    if entries is None:
        raise BadInput(f"no such store: {place} is not a folder")
    log_place = _log_place(place, entries)
    if names is not None:
        return Store(*names, place, log_place, is_named=True)
    return Store(cluster or _cluster_in(log_place), _folder_name(place), place, log_place)


def _log_place(place: str, entries: dict[str, Entry]) -> str:
    log = entries.get("commitlog")
    if log is not None and log.is_folder:
        return inside(place, "commitlog")
    if find_segments(place, entries):
        return place
    raise BadInput(f"not a store: {place} has no commitlog folder, and no segments of one")


def _folder_name(place: str) -> str:
    parts = [part for part in place.partition("?")[0].rpartition("://")[2].split("/") if part]
    named = [part for part in parts if part not in ("store", "commitlog")] if len(parts) > 1 else parts
    return (named or parts or [place])[-1]


def _cluster_in(log_place: str) -> str:
    """What the first messages say: brokers write their cluster into each."""
    for segment in find_segments(log_place, listed(log_place) or {})[:1]:
        for properties in _first_properties(segment):
            if properties.get(Property.CLUSTER):
                return properties[Property.CLUSTER]
    return UNKNOWN_CLUSTER


def _first_properties(segment: Segment) -> Sequence[dict[str, str]]:
    with File(segment.place) as file:
        head = file.read(0, _LOOK_BYTES)
    found: list[dict[str, str]] = []
    pos = 0
    while len(found) < _LOOK_RECORDS:
        try:
            record = decode_record(head, pos, check_crc=False)
        except CorruptRecord:
            break
        found.append(record.properties)
        pos += record.size
    return found
