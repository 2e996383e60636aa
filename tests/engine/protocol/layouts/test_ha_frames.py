"""HA frames by hand, and what a forged peer may try."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import ProtocolError
from engine.protocol.layouts.ha_frames import (
    LOG,
    Head,
    decode_ack,
    decode_head,
    decode_push,
    decode_report,
    encode_ack,
    encode_head,
    encode_push,
    encode_report,
)

ACK = bytes.fromhex("0000000000001000")
PUSH = bytes.fromhex("0000000000001000 00008000")
REPORT = bytes.fromhex("00000002 0000000000001000")
HEAD = bytes.fromhex("00000002 00000100 0000000000001000 00000002 0000000000000800 0000000000000f00")

DECODERS: dict[Callable[[bytes], object], bytes] = {
    decode_ack: ACK,
    decode_push: PUSH,
    decode_report: REPORT,
    decode_head: HEAD,
}
each_decoder = pytest.mark.parametrize(("decode", "sample"), DECODERS.items())


def test_plain_frames_are_an_offset_or_an_offset_and_a_size() -> None:
    assert encode_ack(4096) == ACK
    assert decode_ack(ACK) == 4096
    assert encode_push(4096, 32768) == PUSH
    assert decode_push(PUSH) == (4096, 32768)


def test_our_own_frames_carry_epoch_and_confirmed_offset() -> None:
    head = Head(LOG, 256, 4096, 2, 2048, 3840)
    assert encode_head(head) == HEAD
    assert decode_head(HEAD) == head
    assert encode_report(LOG, 4096) == REPORT
    assert decode_report(REPORT) == (LOG, 4096)


@each_decoder
def test_a_frame_of_another_size_is_refused(decode: Callable[[bytes], object], sample: bytes) -> None:
    for wrong in (b"", sample[:-1], sample + b"\0"):
        with pytest.raises(ProtocolError):
            decode(wrong)


@each_decoder
@given(data=st.data())
def test_noise_is_refused_or_read_but_never_breaks(
    decode: Callable[[bytes], object], sample: bytes, data: st.DataObject
) -> None:
    noise = data.draw(st.binary(min_size=len(sample), max_size=len(sample)))
    try:
        decode(noise)
    except ProtocolError:
        return
    assert decode is not decode_push or noise[0] < 0x80


@pytest.mark.parametrize(
    ("decode", "frame"),
    [
        (decode_ack, "ffffffffffffffff"),
        (decode_push, "ffffffffffffffff 00000000"),
        (decode_push, "0000000000001000 ffffffff"),
        (decode_push, "0000000000001000 7fffffff"),
        (decode_report, "00000001 0000000000001000"),
        (decode_report, "00000002 8000000000001000"),
        (decode_head, "00000001 00000100 0000000000001000 00000002 0000000000000800 0000000000000f00"),
        (decode_head, "00000002 ffffffff 0000000000001000 00000002 0000000000000800 0000000000000f00"),
    ],
)
def test_a_number_that_no_honest_peer_sends_is_refused(decode: Callable[[bytes], object], frame: str) -> None:
    with pytest.raises(ProtocolError):
        decode(bytes.fromhex(frame))
