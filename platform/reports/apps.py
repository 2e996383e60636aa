"""The Django app of reports."""

from django.apps import AppConfig


class ReportsConfig(AppConfig):
    name = "reports"
