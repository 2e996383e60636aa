"""One process of this host: started and stopped, with its row kept in step. For steps and reconcile."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path

from clusters.models import Broker, Cluster
from clusters.provisioning import disk_room, driver, fences
from clusters.provisioning.confs import secret_lines, text_of
from clusters.provisioning.driver import DriverError, Kind, Presence, ProcessSpec, Seen
from clusters.provisioning.folders import write_if_changed
from clusters.provisioning.inventory import (
    Process,
    cluster_of,
    name_server_addresses,
    raise_fence,
    spec_of,
)
from clusters.provisioning.secrets_of_clusters import (
    ADMINISTRATOR_FILE,
    administrator_file,
    bundle_of,
    files_of,
)

Check = Callable[[], None]
Observed = Broker.Observed


def start(process: Process, now: datetime, check: Check = lambda: None, *, waits: bool = True) -> Seen:
    """Runs and answers; it is to run from now on."""
    spec = spec_of(process)
    try:
        return _start(process, spec, now, check, waits=waits)
    except OSError as error:
        if not disk_room.is_full(error):
            raise
        raise DriverError(disk_room.full_disk(process.label, error)) from error


def _start(process: Process, spec: ProcessSpec, now: datetime, check: Check, *, waits: bool) -> Seen:
    spec.folder.make()
    fence = raise_fence(process)
    with fences.hold(spec.folder.fence, fence, waits=waits):
        check()
        if driver.look(spec).presence is Presence.ABSENT:
            refuse_lost_founder(process, spec)
            _write(process, spec)
        seen = driver.start(spec, Path(process.host.data_root), uuid.uuid4().hex, fence, check)
        note_running(process, seen, now)
    return seen


def stop(process: Process, now: datetime, check: Check = lambda: None, *, why: str = "stopped") -> bool:
    """Whether it had to be killed. Whether it is to run is the caller's to say."""
    spec = spec_of(process)
    if not spec.folder.path.exists():
        note(process, now, Observed.STOPPED, last_exit="it was never started")
        return False
    fence = raise_fence(process)
    with fences.hold(spec.folder.fence, fence, waits=True):
        check()
        was_killed = driver.stop(spec, check)
        note(process, now, Observed.STOPPED, last_exit=why, pid=None)
    return was_killed


def _write(process: Process, spec: ProcessSpec) -> None:
    is_broker = spec.kind is Kind.BROKER
    bundle = bundle_of(cluster_of(process), process.host, Path(process.host.data_root))
    text = text_of({**spec.settings, **secret_lines(bundle, is_broker=is_broker)})
    driver.write_conf(spec, text, files_of(bundle, is_broker=is_broker))
    _write_administrator(cluster_of(process), spec, bundle)


def _write_administrator(cluster: Cluster, spec: ProcessSpec, bundle: Mapping[str, str]) -> None:
    path = spec.folder.secrets / ADMINISTRATOR_FILE
    if cluster.access_control == Cluster.AccessControl.ADMINISTRATION:
        write_if_changed(path, administrator_file(bundle, name_server_addresses(cluster)))
    else:
        path.unlink(missing_ok=True)


def refuse_lost_founder(process: Process, spec: ProcessSpec) -> None:
    """Member 0 without its group's file would found the group anew, beside the one that there is."""
    if not isinstance(process, Broker) or process.member != 0 or spec.folder.group_file.exists():
        return
    has_run = bool(process.token)
    others = process.group.brokers.exclude(pk=process.pk)
    if not process.is_master or (has_run and others.exclude(token="").exists()):
        raise DriverError(
            f"the store of {process.label} is gone, and its group has other members: it would become a "
            "second master. Promote a slave, then remove this member and add a slave"
        )


def note_running(process: Process, seen: Seen, now: datetime) -> None:
    note(
        process,
        now,
        Observed.RUNNING,
        pid=seen.pid,
        token=seen.token,
        running_config_digest=seen.digest,
        next_start_at=None,
    )


def note(process: Process, now: datetime, observed: str, **changes: object) -> None:
    since = now if process.observed != observed else process.since or now
    values = {"observed": observed, "observed_at": now, "since": since, **changes}
    type(process).objects.filter(pk=process.pk).update(**values)
    for name, value in values.items():
        setattr(process, name, value)


def want(process: Process, desired: str) -> None:
    type(process).objects.filter(pk=process.pk).update(desired=desired)
    process.desired = desired
