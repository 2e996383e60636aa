"""Steps on a host, run by its agent: ports, and starting, stopping, restarting, removing one process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from clusters.models import Broker, Cluster, NameServer
from clusters.provisioning import driver, folders, ports, running
from clusters.provisioning.driver import Presence
from clusters.provisioning.inventory import Process, cluster_of, find_process, spec_of
from clusters.provisioning.registry import Registry, StepContext
from clusters.provisioning.releases import refuse_without_administration, version_of
from clusters.provisioning.undoing import Undone
from console.core.problems import Problem

RUNNING, STOPPED = Broker.Desired.RUNNING, Broker.Desired.STOPPED


def register(kinds: Registry) -> None:
    kinds.add("find_release", find_release)
    kinds.add("reserve_ports", reserve_ports)
    kinds.add("start", start, unstart)
    kinds.add("stop", stop, start)
    kinds.add("restart", restart, restart, undone=Undone.LAST)
    kinds.add("remove", remove)


def _process(ctx: StepContext) -> Process:
    return find_process(ctx.cluster, ctx.arguments["process"])


def find_release(ctx: StepContext) -> dict[str, Any]:
    """Before anything is stopped for it: a release that this host cannot run fails here."""
    host = ctx.step.host
    assert host is not None, "it is a host that a release is installed on"
    release = ctx.arguments["release"]
    version = version_of(Path(host.data_root), release)
    ctx.log(f"{release} on {host.name} is signalbox {version}")
    if ctx.cluster.access_control == Cluster.AccessControl.ADMINISTRATION:
        refuse_without_administration(release, version)
    return {"version": version}


def reserve_ports(ctx: StepContext) -> None:
    """Whoever's port somebody else listens on gets another one, before anybody is told of it."""
    for label in ctx.arguments["processes"]:
        process = find_process(ctx.cluster, label)
        if driver.look(spec_of(process)).pid is not None:
            continue
        port = _free_port(process)
        if port != process.port:
            ctx.log(f"port {process.port} of {label} is taken on {process.host.name}: {port} instead")
            ctx.check(at_once=True)
            type(process).objects.filter(pk=process.pk).update(port=port)


def _free_port(process: Process) -> int:
    host = process.host

    def is_free(port: int) -> bool:
        return ports.is_free(host.address, port)

    own = [process.port] if isinstance(process, NameServer) else list(ports.broker_ports(process.port))
    if all(map(is_free, own)):
        return process.port
    taken = set(type(process).objects.filter(host=host).values_list("port", flat=True))
    if isinstance(process, NameServer):
        return ports.pick_name_server_port(host.namesrv_port_low, host.namesrv_port_high, taken, is_free)
    return ports.pick_broker_port(host.port_low, host.port_high, taken, is_free)


def start(ctx: StepContext) -> dict[str, Any]:
    process = _process(ctx)
    seen = running.start(process, ctx.now(), lambda: ctx.check())
    type(process).objects.filter(pk=process.pk).update(desired=RUNNING, crashes=[])
    ctx.log(f"{process.label} answers on {process.address}, pid {seen.pid}")
    return {"pid": seen.pid, "address": process.address}


def unstart(ctx: StepContext) -> None:
    """A process that this operation added goes, with what it wrote; one that it brought back is stopped."""
    try:
        process = _process(ctx)
    except Problem:
        return
    wanted = ctx.arguments.get("undo")
    if wanted is None:
        return
    running.want(process, STOPPED)
    running.stop(process, ctx.now(), lambda: ctx.check(), why="rolled back")
    if wanted == "remove":
        folders.remove(spec_of(process).folder, keeps_data=False, stamp="")
        ctx.log(f"{process.label} is stopped, its folder removed")


def stop(ctx: StepContext) -> None:
    process = _process(ctx)
    running.want(process, STOPPED)
    _stop(ctx, process)


def _stop(ctx: StepContext, process: Process) -> None:
    was_killed = running.stop(process, ctx.now(), lambda: ctx.check(), why=f"operation {ctx.operation.kind}")
    ctx.log(f"{process.label} is stopped" + (": it had to be killed" if was_killed else ""))


def restart(ctx: StepContext) -> dict[str, Any]:
    """Once: the token that ran before is kept, so that a second run sees whether it was done."""
    process = _process(ctx)
    seen = driver.look(spec_of(process))
    if "before" not in ctx.result:
        ctx.keep(before=seen.token)
    if seen.presence is not Presence.ABSENT and seen.token == ctx.result["before"]:
        _stop(ctx, process)
    seen = running.start(process, ctx.now(), lambda: ctx.check())
    type(process).objects.filter(pk=process.pk).update(desired=RUNNING, crashes=[])
    ctx.log(f"{process.label} answers again on {process.address}, pid {seen.pid}")
    return {"pid": seen.pid}


def remove(ctx: StepContext) -> dict[str, Any]:
    """Stopped for good; its files are removed, left where they are, or moved to trash/."""
    try:
        process = _process(ctx)
    except Problem:
        return {}
    running.want(process, STOPPED)
    _stop(ctx, process)
    data = ctx.arguments["data"]
    if data == "leave":
        return {"kept_in": str(spec_of(process).folder.path)}
    ctx.check(at_once=True)
    stamp = ctx.operation.pk.hex[:8]
    kept = folders.remove(spec_of(process).folder, keeps_data=data == "trash", stamp=stamp)
    if kept is None:
        _remove_secrets(process)
    ctx.log(f"the files of {process.label} are {'removed' if kept is None else f'kept in {kept}'}")
    return {"kept_in": "" if kept is None else str(kept)}


def _remove_secrets(process: Process) -> None:
    """With the last process of a cluster on a host its secrets go, too."""
    folder, host = spec_of(process).folder, process.host
    cluster = cluster_of(process)
    others = Broker.objects.filter(group__cluster=cluster, host=host).count()
    others += NameServer.objects.filter(cluster=cluster, host=host).count()
    if others <= 1 or not any(each.is_dir() and each != folder.secrets for each in _siblings(folder)):
        folders.remove_secrets(folder)


def _siblings(folder: folders.ProcessFolder) -> list[Any]:
    return list(folder.path.parent.iterdir()) if folder.path.parent.exists() else []
