"""What brokers said last: rows that the collector alone writes, and everybody reads.

Only changed rows are written, so a row's age is not its own: it is the oldest `sampled_at` of the brokers
that it was put together from (clusters/selectors/live.py). None: "not known" or "not sampled", never zero.
`revision` is that of the collection that changed the row last.
"""

from __future__ import annotations

from django.db import models

from clusters.models.clusters import Cluster


class Collection(models.Model):
    """Who collects a cluster: a lease. Whoever raises `fence` while it is over owns it; writes name it."""

    cluster = models.OneToOneField(Cluster, models.CASCADE, related_name="collection")
    holder = models.CharField(max_length=128, blank=True)
    fence = models.BigIntegerField(default=0)
    lease_until = models.DateTimeField(null=True)
    revision = models.BigIntegerField(default=0)
    sampled_at = models.DateTimeField(null=True)
    """When a round of all brokers last ended, with or without their answers."""
    error = models.TextField(blank=True)
    """Why nothing could be asked at all (no name server answers)."""


class LiveBroker(models.Model):
    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="live_brokers")
    broker_name = models.CharField(max_length=127)
    member = models.PositiveIntegerField()
    """brokerId; 0 is the master."""
    address = models.CharField(max_length=255)
    role = models.CharField(max_length=16, blank=True)
    version = models.CharField(max_length=64, blank=True)
    epoch = models.BigIntegerField(null=True)
    ha = models.JSONField(default=dict)
    rates = models.JSONField(default=dict)
    """Messages per second: put, got."""
    disk_ratio = models.FloatField(null=True)
    retention = models.JSONField(null=True)
    """When segments are deleted and writes refused, and what was deleted before its time; None: not said."""
    damage = models.JSONField(null=True)
    """Damaged records; None: nothing was ever found, or an older release, which has no `retention` either."""
    certificate = models.JSONField(null=True)
    """{"notAfterMs"} of the TLS port's certificate; None: there is none, or it is not known."""
    log = models.JSONField(default=dict)
    producers = models.JSONField(null=True)
    """{producer group: [[client id, address, language, version]]}; None: not sampled."""
    booted_at = models.DateTimeField(null=True)
    sampled_at = models.DateTimeField(null=True)
    """When it last answered: it keeps its age while it does not."""
    is_reachable = models.BooleanField(default=False)
    error = models.TextField(blank=True)
    revision = models.BigIntegerField(default=0)

    class Meta:
        ordering = ["broker_name", "member"]
        constraints = [
            models.UniqueConstraint(fields=["cluster", "broker_name", "member"], name="one_live_broker")
        ]


class LiveTopic(models.Model):
    class Kind(models.TextChoices):
        NORMAL = "normal"
        RETRY = "retry"
        DLQ = "dlq"
        SYSTEM = "system"

    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="live_topics")
    name = models.CharField(max_length=255)
    kind = models.CharField(max_length=6, choices=Kind.choices)
    read_queues = models.PositiveIntegerField()
    """Of all brokers together."""
    write_queues = models.PositiveIntegerField()
    perm = models.PositiveSmallIntegerField()
    """What any broker allows: 4 read, 2 write."""
    is_ordered = models.BooleanField(default=False)
    brokers = models.JSONField(default=dict)
    """{broker name: {"readQueues", "writeQueues", "perm", "queues": [[queue id, min, max]]}}"""
    messages = models.BigIntegerField(null=True)
    put_rate = models.FloatField(null=True)
    last_write_at = models.DateTimeField(null=True)
    """When the collector last saw an offset grow; None when it never has."""
    group_count = models.PositiveIntegerField(default=0)
    lag = models.BigIntegerField(null=True)
    """Of all its groups together; None when one of them is not known, 0 when nobody reads it."""
    revision = models.BigIntegerField(default=0)

    class Meta:
        ordering = ["name"]
        constraints = [models.UniqueConstraint(fields=["cluster", "name"], name="one_live_topic")]
        indexes = [models.Index(fields=["cluster", "kind", "name"], name="live_topics_by_kind")]


class LiveGroup(models.Model):
    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="live_groups")
    name = models.CharField(max_length=255)
    topic_count = models.PositiveIntegerField(default=0)
    lag = models.BigIntegerField(null=True)
    lag_is_partial = models.BooleanField(default=False)
    """Some queue with messages has no committed offset: `lag` is that of the others, None when that is 0."""
    oldest_unread_at = models.DateTimeField(null=True)
    """Store time of the oldest unread message; None when nothing is unread, or when it is not known."""
    consume_rate = models.FloatField(null=True)
    eta_s = models.FloatField(null=True)
    never_clears = models.BooleanField(default=False)
    """At least one queue's lag does not shrink: there is no eta_s then."""
    member_count = models.PositiveIntegerField(null=True)
    members = models.JSONField(null=True)
    """[{"client_id", "address", "language", "version"}]; None: not sampled."""
    model = models.CharField(max_length=16, blank=True)
    consume_type = models.CharField(max_length=32, blank=True)
    is_sampled = models.BooleanField(default=True)
    """Whether members and seconds are known: on Apache's brokers only while somebody watches."""
    revision = models.BigIntegerField(default=0)

    class Meta:
        ordering = ["name"]
        constraints = [models.UniqueConstraint(fields=["cluster", "name"], name="one_live_group")]
        indexes = [models.Index(fields=["cluster", "-lag"], name="live_groups_by_lag")]


class LiveSubscription(models.Model):
    """One group on one topic: also the index from topics to groups."""

    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="live_subscriptions")
    group = models.CharField(max_length=255)
    topic = models.CharField(max_length=255)
    lag = models.BigIntegerField(null=True)
    lag_is_partial = models.BooleanField(default=False)
    oldest_unread_at = models.DateTimeField(null=True)
    consume_rate = models.FloatField(null=True)
    eta_s = models.FloatField(null=True)
    never_clears = models.BooleanField(default=False)
    expression = models.TextField(blank=True)
    queues = models.JSONField(default=list)
    """[{"broker", "queue", "committed", "max", "oldest_ms"?, "eta_s"?}]; "never": its lag does not shrink.

    `committed` is None where the group has committed nothing and there are messages."""
    revision = models.BigIntegerField(default=0)

    class Meta:
        ordering = ["group", "topic"]
        constraints = [
            models.UniqueConstraint(fields=["cluster", "group", "topic"], name="one_live_subscription")
        ]
        indexes = [models.Index(fields=["cluster", "topic", "group"], name="groups_of_a_topic")]


class RebalanceEvent(models.Model):
    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="rebalances")
    group = models.CharField(max_length=255)
    at = models.DateTimeField()
    joined = models.JSONField(default=list)
    left = models.JSONField(default=list)
    member_count = models.PositiveIntegerField()

    class Meta:
        ordering = ["-at", "-id"]
        indexes = [models.Index(fields=["cluster", "group", "-at"], name="rebalances_of_a_group")]


class SeriesChunk(models.Model):
    """Points of one series and one stretch of time, packed (clusters/selectors/packing.py)."""

    class Subject(models.TextChoices):
        CLUSTER = "cluster"
        BROKER = "broker"
        TOPIC = "topic"
        GROUP = "group"

    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="+")
    subject = models.CharField(max_length=7, choices=Subject.choices)
    name = models.CharField(max_length=255)
    metric = models.CharField(max_length=24)
    resolution_s = models.PositiveIntegerField()
    starts_at = models.DateTimeField()
    points = models.BinaryField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "subject", "name", "metric", "resolution_s", "starts_at"],
                name="one_chunk_of_a_series",
            )
        ]
        indexes = [models.Index(fields=["resolution_s", "starts_at"], name="chunks_by_age")]
