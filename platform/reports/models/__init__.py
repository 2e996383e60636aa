"""Rows of reports: schedules, runs, where attached clusters keep their stores, which hosts can run Spark."""

from reports.models.runs import ReportRun
from reports.models.schedules import ReportSchedule
from reports.models.spark_hosts import SparkHost
from reports.models.stores import ClusterStores

__all__ = ["ClusterStores", "ReportRun", "ReportSchedule", "SparkHost"]
