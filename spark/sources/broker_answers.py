"""Asking the broker that owns a store how far its files may be read.

Whom to ask is what the caller says, else what the store's own records say: each names the broker that stored
it. Such a found address counts only when it is one of this machine and the broker there says that this folder
is its store, because a replica's records name its master, and machines share folder names. A broker that does
not answer, or refuses, is no error: then the files alone decide.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from engine.client.blocking import Admin
from engine.errors import CorruptRecord, EngineError
from engine.protocol.records import decode_record
from engine.protocol.signing import Credentials
from spark.sources.files import File, is_local
from spark.sources.segments import Segment
from spark.sources.stores import Store

__all__ = ["Asking", "BrokerSays", "ask_broker"]

_TIMEOUT_MS = 3_000


@dataclass(frozen=True, slots=True)
class Asking:
    """Where brokers are, and who asks."""

    addresses: Mapping[str, str]
    """`cluster/broker` to `host:port`; the empty name stands for every store."""
    credentials: Credentials | None = None
    tls: bool = False

    @classmethod
    def read(cls, options: Mapping[str, str]) -> Asking:
        """Of the options `addresses` (a comma list, each `host:port` or `cluster/broker=host:port`),
        `access_key`, `secret_key` and `tls`."""
        pairs = (
            part.strip().rpartition("=")
            for part in (options.get("addresses") or "").split(",")
            if part.strip()
        )
        access_key, secret_key = options.get("access_key"), options.get("secret_key")
        return cls(
            {name: address for name, _, address in pairs},
            Credentials(access_key, secret_key) if access_key and secret_key else None,
            (options.get("tls") or "").lower() == "true",
        )


@dataclass(frozen=True, slots=True)
class BrokerSays:
    readable_offset: int
    dispatched_offset: int | None = None
    """How far the queues have followed: always a boundary between records, and never behind what may be read.
    Apache's brokers do not tell it."""


def ask_broker(store: Store, segments: Sequence[Segment], asking: Asking) -> BrokerSays | None:
    """The broker's own word; None when it cannot be asked: the checkpoint counts then."""
    given = asking.addresses
    address = given.get(f"{store.cluster}/{store.broker}") or given.get("")
    is_found = address is None
    if address is None:
        address = _address_in(store, segments)
    if address is None:
        return None
    try:
        with Admin(
            namesrv=address, timeout_ms=_TIMEOUT_MS, tls=asking.tls, credentials=asking.credentials
        ) as admin:
            if is_found and not _is_its_store(admin.brokers.config(address), store):
                return None
            return _says(admin.brokers.runtime_info(address))
    except EngineError:
        return None


def _says(info: Mapping[str, str]) -> BrokerSays | None:
    """Apache's brokers tell the end of their log, which is what their consumers see."""
    readable = info.get("commitLogReadableOffset") or info.get("commitLogMaxOffset")
    dispatched = info.get("commitLogDispatchedOffset")
    if readable is None or not readable.isdigit():
        return None
    return BrokerSays(int(readable), int(dispatched) if dispatched and dispatched.isdigit() else None)


def _address_in(store: Store, segments: Sequence[Segment]) -> str | None:
    """The address in the newest segment's first record, if it is one of this machine."""
    if not is_local(store.place):
        return None
    for segment in reversed(segments):
        with File(segment.place) as file:
            try:
                host, port = decode_record(file.read(0, 1 << 20), 0, check_crc=False).store_host
            except CorruptRecord:
                continue
        if not _is_own_address(host):
            return None
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    return None


def _is_own_address(host: str) -> bool:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.bind((host, 0))
    except OSError:
        return False
    return True


def _is_its_store(config: Mapping[str, str], store: Store) -> bool:
    root = config.get("storePathRootDir")
    try:
        return root is not None and os.path.samefile(root, store.place)
    except OSError:
        return False
