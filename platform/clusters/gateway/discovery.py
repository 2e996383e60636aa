"""Meeting a cluster that somebody else runs: which brokers its name servers know, and whose they are."""

from __future__ import annotations

from dataclasses import dataclass

from clusters.gateway.addressing import ClusterAddress
from clusters.gateway.connections import ask, problem_of
from console.core.problems import Problem
from engine.client.admin import Admin
from engine.errors import EngineError, PeerError
from engine.protocol.codes import ResponseCode

SIGNALBOX, APACHE, UNKNOWN = "signalbox", "apache", "unknown"
DEADLINE_S = 3.0


@dataclass(frozen=True, slots=True)
class Found:
    broker_cluster_name: str
    brokers: dict[str, dict[int, str]]
    """Broker name to brokerId to address."""
    other_clusters: tuple[str, ...]

    @property
    def addresses(self) -> list[str]:
        return [at for members in self.brokers.values() for at in members.values()]


def discover(address: ClusterAddress) -> Found:
    """Asks the name servers alone; brokers are dialled once their addresses were seen and stored."""
    info = ask(address, lambda admin: admin.cluster.info(), deadline_s=DEADLINE_S)
    names = sorted(info.cluster_addr_table)
    wanted = address.broker_cluster_name or (names[0] if names else "")
    if wanted not in info.cluster_addr_table:
        raise Problem(
            "no_brokers",
            f"the name servers know no cluster {wanted!r}" if wanted else "the name servers know no broker",
            409,
            field="broker_cluster_name",
        )
    brokers = {
        name: {int(number): at for number, at in sorted(info.broker_addr_table[name].broker_addrs.items())}
        for name in sorted(info.cluster_addr_table[wanted])
        if name in info.broker_addr_table
    }
    return Found(wanted, brokers, tuple(name for name in names if name != wanted))


def flavour(address: ClusterAddress, broker: str) -> str:
    """Our snapshot request is unknown to Apache's brokers, which say so with code 3."""

    async def asked(admin: Admin) -> str:
        try:
            await admin.brokers.snapshot(broker)
        except PeerError as error:
            if error.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED:
                return APACHE
            raise problem_of(error, address.name) from None
        except EngineError as error:
            raise problem_of(error, address.name) from None
        return SIGNALBOX

    return ask(address, asked)
