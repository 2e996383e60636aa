"""Rows of the domain. Desired state is what operations change; live state is what the collector last saw."""

from clusters.models.clusters import BrokerGroup, Cluster
from clusters.models.hosts import Host, JoinToken
from clusters.models.operations import Operation, Step, StepLine
from clusters.models.processes import Broker, NameServer

__all__ = [
    "Broker",
    "BrokerGroup",
    "Cluster",
    "Host",
    "JoinToken",
    "NameServer",
    "Operation",
    "Step",
    "StepLine",
]
