"""Engine processes: name servers and brokers, where they are to run, and how they were last seen.

`token` is new for every start: the process writes it into its pid file and carries it in its environment, so
that another process with a reused pid is never taken for it.
"""

from __future__ import annotations

from django.db import models

from clusters.models.clusters import BrokerGroup, Cluster
from clusters.models.hosts import Host


class EngineProcess(models.Model):
    class Desired(models.TextChoices):
        RUNNING = "running"
        STOPPED = "stopped"

    class Observed(models.TextChoices):
        UNKNOWN = "unknown"
        """Nobody has looked, or the host's agent is silent."""
        RUNNING = "running"
        STARTING = "starting"
        SILENT = "silent"
        """The process is there and does not answer."""
        STOPPED = "stopped"
        CRASHED = "crashed"
        CRASH_LOOP = "crash_loop"

    host = models.ForeignKey(Host, models.PROTECT, related_name="+")
    port = models.PositiveIntegerField()
    desired = models.CharField(max_length=8, choices=Desired.choices, default=Desired.RUNNING)
    observed = models.CharField(max_length=10, choices=Observed.choices, default=Observed.UNKNOWN)
    observed_at = models.DateTimeField(null=True)
    since = models.DateTimeField(null=True)
    """When `observed` last changed."""
    pid = models.PositiveIntegerField(null=True)
    token = models.CharField(max_length=32, blank=True)
    fence = models.BigIntegerField(default=0)
    """Of the last one who acted on the process: lower ones are refused on the host."""
    running_config_digest = models.CharField(max_length=64, blank=True)
    crashes = models.JSONField(default=list)
    """Times of the last crashes, seconds since 1970: back-off and crash loops are worked out from them."""
    next_start_at = models.DateTimeField(null=True)
    last_exit = models.CharField(max_length=255, blank=True)

    class Meta:
        abstract = True


class NameServer(EngineProcess):
    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="name_servers")
    number = models.PositiveIntegerField()

    class Meta:
        ordering = ["number"]
        constraints = [
            models.UniqueConstraint(fields=["cluster", "number"], name="one_name_server_of_a_number"),
            models.UniqueConstraint(fields=["host", "port"], name="one_name_server_on_a_port"),
        ]

    @property
    def address(self) -> str:
        return f"{self.host.address}:{self.port}"

    @property
    def label(self) -> str:
        return f"namesrv-{self.number}"


class Broker(EngineProcess):
    group = models.ForeignKey(BrokerGroup, models.CASCADE, related_name="brokers")
    member = models.PositiveIntegerField()
    """Its number in the group for good; which member is master may change."""
    overrides = models.JSONField(default=dict)

    class Meta:
        ordering = ["group__name", "member"]
        constraints = [
            models.UniqueConstraint(fields=["group", "member"], name="one_broker_of_a_member"),
            models.UniqueConstraint(fields=["host", "port"], name="one_broker_on_a_port"),
        ]

    @property
    def address(self) -> str:
        return f"{self.host.address}:{self.port}"

    @property
    def label(self) -> str:
        return f"{self.group.name}-{self.member}"

    @property
    def is_master(self) -> bool:
        return self.group.master_member == self.member
