"""manage.py reseal: every secret under the newest key, after a line was put on top of the key file.

Finds fields by their name, `sealed_…`, in every table. What is sealed for a host (docs/adr/0012) is not ours
to open and stays as it is. Run again at will.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.apps import apps
from django.core.management.base import BaseCommand, CommandError
from django.db import models, transaction
from django.utils import timezone

from console.core import audit
from console.core.actors import Actor
from console.core.problems import Problem
from console.core.sealing import reseal, unseal

_OURS = "gAAAA"
"""How Fernet's tokens begin."""


def sealed_fields() -> Iterator[tuple[type[models.Model], str]]:
    for model in apps.get_models():
        for field in model._meta.concrete_fields:
            if field.name.startswith("sealed_") and isinstance(field, (models.TextField, models.CharField)):
                yield model, field.name


class Command(BaseCommand):
    help = "Seal every secret with the first key of the key file."

    def handle(self, *args: Any, **options: Any) -> None:
        done = 0
        with transaction.atomic():
            for model, name in sealed_fields():
                for key, sealed in _values(model, name):
                    done += _reseal(model, name, key, sealed)
            audit.record(Actor.system("reseal"), "key.reseal", details={"secrets": done}, now=timezone.now())
        self.stdout.write(f"{done} secrets are sealed with the newest key; former keys may go")


def _values(model: type[models.Model], name: str) -> Iterator[tuple[Any, str]]:
    rows = model._base_manager.select_for_update().filter(**{f"{name}__startswith": _OURS})
    yield from rows.values_list("pk", name)


def _reseal(model: type[models.Model], name: str, key: Any, sealed: str) -> int:
    try:
        unseal(sealed)
    except Problem:
        raise CommandError(
            f"{model._meta.label} {key}: {name} was sealed with a key that is not in the key file; "
            "nothing was changed"
        ) from None
    return model._base_manager.filter(pk=key).update(**{name: reseal(sealed)})
