"""Rows of the domain. Desired state is what operations change; live state is what the collector last saw."""

from clusters.models.acl import AclUser
from clusters.models.alerts import Alert, AlertChannel, AlertDelivery, AlertRule, AlertSilence
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
from clusters.models.masking import MaskRule
from clusters.models.operations import Operation, Step, StepLine
from clusters.models.processes import Broker, NameServer
from clusters.models.redrives import Redrive, RedriveOutcome
from clusters.models.resets import OffsetReset
from clusters.models.searches import SearchHit, SearchJob
from clusters.models.topics import Favourite, Topic

__all__ = [
    "AclUser",
    "Alert",
    "AlertChannel",
    "AlertDelivery",
    "AlertRule",
    "AlertSilence",
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
    "MaskRule",
    "NameServer",
    "OffsetReset",
    "Operation",
    "RebalanceEvent",
    "Redrive",
    "RedriveOutcome",
    "SealedBundle",
    "SearchHit",
    "SearchJob",
    "SeriesChunk",
    "Step",
    "StepLine",
    "Topic",
]
