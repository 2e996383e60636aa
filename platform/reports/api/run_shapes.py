"""How runs look in JSON, and what a request for one may say."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from console.core.fields import Int64Field
from console.core.problems import Problem
from reports.actions.runs import RunWish
from reports.models import ReportRun
from reports.models.wishes import DEFAULT_RETRIES, DEFAULT_TIMEOUT_S
from reports.selectors.catalogue import find_report
from reports.selectors.timetable import check_zone

LONGEST_S = 86_400


class ReportStoreSerializer(serializers.Serializer[Any]):
    broker = serializers.CharField(max_length=127, default="", allow_blank=True)
    path = serializers.CharField(
        max_length=1024, help_text="A store's folder, a pattern of them, or an address that pyarrow reads."
    )

    def validate_broker(self, broker: str) -> str:
        if not all(char.isalnum() or char in "._-" for char in broker):
            raise serializers.ValidationError("letters, digits, dots, dashes and underscores only")
        return broker

    def validate_path(self, path: str) -> str:
        is_plain = path.startswith("/") or "://" in path
        if not is_plain or ".." in path.split("/") or not path.isprintable():
            raise serializers.ValidationError("an absolute path or an address, without ..")
        return path


class WishSerializer(serializers.Serializer[Any]):
    """What runs and schedules have in common."""

    report = serializers.CharField(max_length=32)
    options = serializers.DictField(required=False)
    brokers = serializers.ListField(
        child=serializers.CharField(max_length=127),
        max_length=64,
        default=list,
        help_text="Broker groups to read; empty: all.",
    )
    allows_partial = serializers.BooleanField(
        default=False, help_text="Read what one host has when none has everything; the rest is named."
    )
    time_zone = serializers.CharField(
        max_length=64, default="UTC", help_text="Days and hours are those of it."
    )
    keep_days = serializers.IntegerField(min_value=1, max_value=366, required=False)
    timeout_s = serializers.IntegerField(min_value=10, max_value=LONGEST_S, default=DEFAULT_TIMEOUT_S)
    retries = serializers.IntegerField(min_value=0, max_value=5, default=DEFAULT_RETRIES)

    def validate(self, values: dict[str, Any]) -> dict[str, Any]:
        check_zone(values["time_zone"])
        report = find_report_or_refuse(values["report"])
        values["options"] = report.checked(values.get("options") or {})
        values.setdefault("keep_days", settings.REPORT_KEEP_DAYS)
        return values


def find_report_or_refuse(name: str) -> Any:
    try:
        report = find_report(name)
    except Problem:
        report = None
    if report is None or not report.is_listed:
        raise Problem("unknown_report", f"there is no report {name!r}", 400, field="report")
    return report


class RunRequestSerializer(WishSerializer):
    begin = serializers.DateTimeField(required=False, help_text="Stored at or after.")
    end = serializers.DateTimeField(required=False, help_text="Stored before.")
    stores = ReportStoreSerializer(
        many=True,
        max_length=64,
        default=list,
        help_text="Where the stores are, instead of what is known of the cluster: for administrators of the "
        "platform, below what SIGNALBOX_STORES of the host allows.",
    )


def run_wish(values: dict[str, Any]) -> RunWish:
    given = {name: value for name, value in values.items() if name != "stores"}
    return RunWish(**given, paths=[dict(store) for store in values["stores"]])


class ReportFileSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    bytes = Int64Field()


class ReportTableSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    rows = Int64Field(allow_null=True)
    bytes = Int64Field()
    files = ReportFileSerializer(many=True)


class ReportRunSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    report = serializers.CharField()
    state = serializers.ChoiceField(ReportRun.State.choices)
    is_cancelling = serializers.SerializerMethodField(help_text="Its processes are being ended.")
    error = serializers.CharField(help_text="Why it failed, or why it is tried again.")
    progress = serializers.JSONField(
        help_text="phase, stages_done, stages_total, tasks_done, tasks_total, rows, memory_mb."
    )
    options = serializers.JSONField()
    brokers = serializers.ListField(child=serializers.CharField())
    begin = serializers.DateTimeField(allow_null=True)
    end = serializers.DateTimeField(allow_null=True)
    time_zone = serializers.CharField()
    host = serializers.SerializerMethodField()
    left_out = serializers.ListField(
        child=serializers.CharField(), help_text="Broker groups that were not read: the figures lack them."
    )
    schedule = serializers.SerializerMethodField()
    scheduled_for = serializers.DateTimeField(allow_null=True)
    retry_of = serializers.UUIDField(source="retry_of_id", allow_null=True)
    attempts = serializers.IntegerField()
    created_by = serializers.CharField()
    created_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)
    expires_at = serializers.DateTimeField(help_text="Then its files are removed.")

    def get_is_cancelling(self, run: ReportRun) -> bool:
        return run.cancel_asked_at is not None and run.state in ReportRun.OPEN

    def get_host(self, run: ReportRun) -> str | None:
        return None if run.host is None else run.host.name

    def get_schedule(self, run: ReportRun) -> str | None:
        return None if run.schedule is None else run.schedule.name


class ReportRunDetailSerializer(ReportRunSerializer):
    timeout_s = serializers.IntegerField()
    retries = serializers.IntegerField()
    summary = serializers.JSONField(
        allow_null=True, help_text="figures, charts, what is unknown, warnings; null until it is done."
    )
    tables = serializers.SerializerMethodField()
    log_tail = serializers.CharField()

    @extend_schema_field(ReportTableSerializer(many=True))
    def get_tables(self, run: ReportRun) -> Any:
        found = [
            {"name": name, **about, "bytes": sum(file["bytes"] for file in about["files"])}
            for name, about in sorted(run.tables.items())
        ]
        return ReportTableSerializer(found, many=True).data


class ReportPlanSerializer(serializers.Serializer[Any]):
    host = serializers.CharField(allow_null=True, help_text="Null: whichever can.")
    stores = serializers.JSONField()
    left_out = serializers.ListField(child=serializers.CharField())
    missing = serializers.CharField(
        help_text="Why it would fail at once; empty: nothing is known against it."
    )
