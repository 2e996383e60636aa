"""Who this broker is to others: cluster, name and addresses. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from engine.broker.settings.options import BrokerOptions
from engine.protocol.hosts import Host, joined


@dataclass(frozen=True, slots=True)
class BrokerIdentity:
    cluster: str
    name: str
    address: str
    ha_address: str


def identify(options: BrokerOptions, address: Host, ha_address: str | None) -> BrokerIdentity:
    """`ha_address`: where the HA port is, if there is one; else where RocketMQ's would be."""
    host, port = address
    conventional = joined(options.broker_ip2 or host, options.ha_listen_port or port + 1)
    name = options.broker_cluster_name, options.broker_name
    return BrokerIdentity(*name, joined(host, port), ha_address or conventional)
