"""From broker.conf to the store's settings."""

from __future__ import annotations

import pytest

from engine.broker.settings.options import load_options
from engine.broker.settings.store_options_io import store_options
from engine.errors import BadInput

HOST = bytes(8)


@pytest.mark.parametrize(("given", "used"), [(300_000, 300_000), (300_001, 300_020), (1_000, 1_000)])
def test_queue_files_hold_whole_units(given: int, used: int) -> None:
    options = load_options(f"mappedFileSizeConsumeQueue={given}")
    assert store_options(options, HOST).mapped_file_size_consume_queue == used


def test_a_segment_too_small_for_a_message_is_refused() -> None:
    with pytest.raises(BadInput, match="mappedFileSizeCommitLog"):
        store_options(load_options("mappedFileSizeCommitLog=4194304"), HOST)
