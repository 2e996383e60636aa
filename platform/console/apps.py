"""The Django app of the site itself: commands and pages."""

from django.apps import AppConfig


class ConsoleConfig(AppConfig):
    name = "console"

    def ready(self) -> None:
        # Whoever wakes a worker does it through the current Celery app: it must be ours.
        import console.celery  # noqa: F401
