"""What strangers type begins no line of a log and reaches no terminal as a command."""

from __future__ import annotations

import io
import logging
import logging.config
from collections.abc import Iterator

import pytest
from django.conf import settings
from rest_framework.test import APIClient

from clusters.models import Cluster
from tests.platform_fixtures import People

FORGED = "2026-01-01 00:00:00,000 INFO console: everything is fine"


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """All that is logged, formatted as the settings say."""
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    # The configurator's own way from a name in the settings to a formatter.
    configured = logging.config.DictConfigurator({"version": 1})
    handler.setFormatter(configured.configure_formatter(dict(settings.LOGGING["formatters"]["line"])))
    logging.getLogger().addHandler(handler)
    yield written
    logging.getLogger().removeHandler(handler)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\x0b", "\x0c", "\x85", "\u2028"])
def test_a_message_is_one_line(log: io.StringIO, end: str) -> None:
    logging.getLogger("test").warning("no topic %s", f"orders{end}{FORGED}\x1b[31m")
    [line] = log.getvalue().splitlines()
    assert "WARNING test: no topic orders\\" in line and FORGED in line
    assert "\x1b" not in line


def test_a_traceback_has_lines_that_look_like_no_other(log: io.StringIO) -> None:
    try:
        raise ValueError(f"no\n{FORGED}\r{FORGED}\x1b]0;title\x07")
    except ValueError:
        logging.getLogger("test").exception("failed")
    first, *others = log.getvalue().splitlines()
    assert first.endswith("ERROR test: failed")
    assert len(others) > 3 and all(line.startswith("  | ") for line in others)
    assert "\x1b" not in log.getvalue() and "\x07" not in log.getvalue()


@pytest.mark.django_db
def test_a_path_with_line_ends_is_logged_as_one_line(
    log: io.StringIO, people: People, attached: Cluster
) -> None:
    Cluster.objects.update(name_server_addresses=["127.0.0.1:1"], broker_addresses=["127.0.0.1:1"])
    client: APIClient = people.root
    forged = f"/api/v1/clusters/attached/messages/x%0a{FORGED.replace(' ', '%20')}/"
    answer = client.get(f"{forged}?topic=orders")
    assert answer.status_code in (400, 404, 503), answer.content
    assert client.get(f"/nowhere/%0d%0a{FORGED.replace(' ', '%20')}").status_code in (200, 404)
    assert not [line for line in log.getvalue().splitlines() if line.startswith(FORGED)]
