"""The Django app of what all apps share."""

from django.apps import AppConfig


class CoreConfig(AppConfig):
    name = "console.core"
    label = "core"
    verbose_name = "What all apps share"
