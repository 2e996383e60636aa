"""The Django app of the site itself: commands and pages."""

from django.apps import AppConfig


class ConsoleConfig(AppConfig):
    name = "console"
