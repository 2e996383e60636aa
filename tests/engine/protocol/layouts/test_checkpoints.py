from __future__ import annotations

import pytest

from engine.errors import CorruptRecord
from engine.protocol.layouts.checkpoints import (
    Checkpoint,
    TimerCheck,
    decode_checkpoint,
    decode_timer_check,
    encode_checkpoint,
    encode_timer_check,
)


def test_a_checkpoint_is_five_numbers_on_a_page() -> None:
    page = encode_checkpoint(Checkpoint(1, 2, 3, 4, -5))
    assert len(page) == 4096
    assert page[:40] == bytes.fromhex(
        "00" * 7 + "01" + "00" * 7 + "02" + "00" * 7 + "03" + "00" * 7 + "04"
    ) + (b"\xff" * 7 + b"\xfb")
    assert not any(page[40:])
    assert decode_checkpoint(page) == Checkpoint(1, 2, 3, 4, -5)


def test_a_checkpoint_that_ends_early_is_corrupt() -> None:
    assert decode_checkpoint(bytes(40)) == Checkpoint()
    with pytest.raises(CorruptRecord):
        decode_checkpoint(bytes(39))


def test_a_timer_check_is_seven_numbers() -> None:
    check = TimerCheck(1, 2, 3, 4, 5, 6, 7)
    encoded = encode_timer_check(check)
    assert encoded == b"".join(bytes(7) + bytes([number]) for number in range(1, 8))
    assert decode_timer_check(encoded) == check
    with pytest.raises(CorruptRecord):
        decode_timer_check(encoded[:-1])
