"""Rows of the domain. Desired state is what operations change; live state is what the collector last saw."""

from clusters.models.acl import AclUser
from clusters.models.bundles import SealedBundle
from clusters.models.clusters import BrokerGroup, Cluster
from clusters.models.documents import Document
from clusters.models.groups import ConsumerGroup
from clusters.models.hosts import Host, JoinToken
from clusters.models.live import (
    Collection,
    LiveBroker,
    LiveGroup,
    LiveSubscription,
    LiveTopic,
    RebalanceEvent,
    SeriesChunk,
)
from clusters.models.operations import Operation, Step, StepLine
from clusters.models.processes import Broker, NameServer
from clusters.models.resets import OffsetReset
from clusters.models.topics import Favourite, Topic

__all__ = [
    "AclUser",
    "Broker",
    "BrokerGroup",
    "Cluster",
    "Collection",
    "ConsumerGroup",
    "Document",
    "Favourite",
    "Host",
    "JoinToken",
    "LiveBroker",
    "LiveGroup",
    "LiveSubscription",
    "LiveTopic",
    "NameServer",
    "OffsetReset",
    "Operation",
    "RebalanceEvent",
    "SealedBundle",
    "SeriesChunk",
    "Step",
    "StepLine",
    "Topic",
]
