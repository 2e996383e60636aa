"""Processes without pages do not load what only pages need: a quarter of their start, and 20 to 30 MB."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOAD = """
import importlib, sys
sys.path[:0] = ["platform", "."]
import django
django.setup()
importlib.import_module(sys.argv[1])
from console.celery import app
app.loader.import_default_modules()  # the tasks, as a worker does
print(*sorted(sys.modules))
"""
ONLY_PAGES = {"console.urls", "rest_framework.serializers", "drf_spectacular.plumbing", "requests"}


def loaded_by(module: str) -> set[str]:
    environment = os.environ | {
        "DJANGO_SETTINGS_MODULE": "console.settings",
        "SIGNALBOX_CONSOLE_KEY": "only-to-import-0123456789-abcdefghijklmnopq",
        "CELERY_SKIP_CHECKS": "true",  # as console/agent.py sets it
    }
    command = [sys.executable, "-c", LOAD, module]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr[-3000:]
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "module",
    [
        "console.agent",
        "console.management.commands.agent",
        "console.management.commands.collect",
        "console.management.commands.up",
    ],
)
def test_a_process_without_pages_loads_nothing_of_them(module: str) -> None:
    loaded = loaded_by(module)
    assert "clusters.tasks.steps" in loaded
    assert not loaded & ONLY_PAGES


def test_the_console_does_load_them() -> None:
    assert loaded_by("console.urls") >= ONLY_PAGES
