"""From rows to what the driver needs, and back: which processes a host has, how they are to be configured.

A process is called by its label (`namesrv-1`, `broker-a-0`), which is also its folder's name. `raise_fence`
is the only way to a number that `fences.hold` accepts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from django.db.models import F

from clusters.models import Broker, Cluster, NameServer, Step
from clusters.provisioning.confs import BrokerConf, NameServerConf, broker_settings, name_server_settings
from clusters.provisioning.driver import Kind, ProcessSpec
from clusters.provisioning.folders import ProcessFolder, folder_of
from console.core.problems import not_found

Process = NameServer | Broker
_PREFIX = "namesrv-"


def cluster_of(process: Process) -> Cluster:
    return process.cluster if isinstance(process, NameServer) else process.group.cluster


def find_process(cluster: Cluster, label: str) -> Process:
    if label.startswith(_PREFIX):
        number = label.removeprefix(_PREFIX)
        found: Process | None = _name_servers().filter(cluster=cluster, number=_whole(number)).first()
    else:
        group, _, member = label.rpartition("-")
        found = _brokers().filter(group__cluster=cluster, group__name=group, member=_whole(member)).first()
    if found is None:
        raise not_found("process", label)
    return found


def processes_of(cluster: Cluster) -> list[Process]:
    return [*_name_servers().filter(cluster=cluster), *_brokers().filter(group__cluster=cluster)]


def processes_on(host_id: int) -> Iterator[Process]:
    """Of living clusters; name servers first, so that brokers find them."""
    yield from _name_servers().filter(host_id=host_id, cluster__deleted_at=None)
    yield from _brokers().filter(host_id=host_id, group__cluster__deleted_at=None)


def name_server_addresses(cluster: Cluster) -> list[str]:
    return [row.address for row in _name_servers().filter(cluster=cluster)]


def spec_of(process: Process, name_servers: Sequence[str] | None = None) -> ProcessSpec:
    """`name_servers`: the cluster's, by whoever has them already."""
    cluster, host = cluster_of(process), process.host
    root = Path(host.data_root)
    folder = folder_of(root, cluster.name, cluster.pk, process.label)
    kind = Kind.NAME_SERVER if isinstance(process, NameServer) else Kind.BROKER
    settings = settings_of(process, folder, name_servers)
    return ProcessSpec(kind, process.label, host.address, process.port, folder, cluster.release, settings)


def settings_of(
    process: Process, folder: ProcessFolder, name_servers: Sequence[str] | None = None
) -> dict[str, str]:
    cluster = cluster_of(process)
    path, secrets = PurePosixPath(folder.path), PurePosixPath(folder.secrets)
    host = process.host.address
    if isinstance(process, NameServer):
        return name_server_settings(NameServerConf(host, process.port, path, cluster.access_control))
    group = process.group
    conf = BrokerConf(
        cluster=cluster.broker_cluster_name,
        group=group.name,
        member=process.member,
        profile=cluster.profile,
        overrides=cluster.overrides | group.overrides | process.overrides,
        host=host,
        port=process.port,
        folder=path,
        secrets=secrets,
        name_servers=name_server_addresses(cluster) if name_servers is None else name_servers,
        access_control=cluster.access_control,
    )
    return broker_settings(conf)


def raise_fence(process: Process) -> int:
    """Higher than everybody's before."""
    model = type(process)
    model.objects.filter(pk=process.pk).update(fence=F("fence") + 1)
    return int(model.objects.values_list("fence", flat=True).get(pk=process.pk))


def is_worked_on(process: Process) -> bool:
    """A step has it in hand, or was killed with it in hand and will be resumed."""
    return Step.objects.filter(
        operation__cluster=cluster_of(process),
        state=Step.State.RUNNING,
        arguments__process=process.label,
    ).exists()


def _name_servers():  # type: ignore[no-untyped-def]
    return NameServer.objects.select_related("host", "cluster")


def _brokers():  # type: ignore[no-untyped-def]
    return Broker.objects.select_related("host", "group__cluster")


def _whole(text: str) -> int:
    return int(text) if text.isdigit() and len(text) < 9 else -1
