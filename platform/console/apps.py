"""The Django app of the site itself: commands and pages."""

from django.apps import AppConfig


class ConsoleConfig(AppConfig):
    name = "console"

    def ready(self) -> None:
        from console import schema  # noqa: F401
