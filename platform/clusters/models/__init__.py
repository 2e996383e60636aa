"""Rows of the domain. Desired state is what operations change; live state is what the collector last saw."""

from clusters.models.acl import AclUser
from clusters.models.clusters import BrokerGroup, Cluster
from clusters.models.documents import Document
from clusters.models.groups import ConsumerGroup
from clusters.models.hosts import Host, JoinToken
from clusters.models.operations import Operation, Step, StepLine
from clusters.models.processes import Broker, NameServer
from clusters.models.resets import OffsetReset
from clusters.models.topics import Favourite, Topic

__all__ = [
    "AclUser",
    "Broker",
    "BrokerGroup",
    "Cluster",
    "ConsumerGroup",
    "Document",
    "Favourite",
    "Host",
    "JoinToken",
    "NameServer",
    "OffsetReset",
    "Operation",
    "Step",
    "StepLine",
    "Topic",
]
