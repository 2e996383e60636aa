"""HA frames by hand, and what a forged peer may try."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import ProtocolError
from engine.protocol.layouts import (
    EpochEntry,
    MasterHandshake,
    MasterTransfer,
    SlaveHandshake,
    decode_ack,
    decode_epoch_body,
    decode_master_handshake,
    decode_master_transfer,
    decode_push,
    decode_slave_handshake,
    decode_slave_transfer,
    encode_ack,
    encode_epoch_body,
    encode_master_handshake,
    encode_master_transfer,
    encode_push,
    encode_slave_handshake,
    encode_slave_transfer,
)

ACK = bytes.fromhex("0000000000001000")
PUSH = bytes.fromhex("0000000000001000 00008000")
SLAVE_HANDSHAKE = bytes.fromhex("00000001 0001 0000 0000000000000003")
MASTER_HANDSHAKE = bytes.fromhex("00000001 00000018 0000000000001000 00000002")
SLAVE_TRANSFER = bytes.fromhex("00000002 0000000000001000")
MASTER_TRANSFER = bytes.fromhex(
    "00000002 00000100 0000000000001000 00000002 0000000000000800 0000000000000f00"
)
EPOCH_BODY = bytes.fromhex("00000001 0000000000000000 00000002 0000000000000800")

DECODERS: dict[Callable[[bytes], object], bytes] = {
    decode_ack: ACK,
    decode_push: PUSH,
    decode_slave_handshake: SLAVE_HANDSHAKE,
    decode_master_handshake: MASTER_HANDSHAKE,
    decode_slave_transfer: SLAVE_TRANSFER,
    decode_master_transfer: MASTER_TRANSFER,
}
each_decoder = pytest.mark.parametrize(("decode", "sample"), DECODERS.items())


def test_plain_frames_are_an_offset_or_an_offset_and_a_size() -> None:
    assert encode_ack(4096) == ACK
    assert decode_ack(ACK) == 4096
    assert encode_push(4096, 32768) == PUSH
    assert decode_push(PUSH) == (4096, 32768)


def test_a_slave_introduces_itself() -> None:
    handshake = SlaveHandshake(sync_from_last_file=True, is_async_learner=False, broker_id=3)
    assert encode_slave_handshake(handshake) == SLAVE_HANDSHAKE
    assert decode_slave_handshake(SLAVE_HANDSHAKE) == handshake


def test_a_master_answers_with_its_epochs() -> None:
    handshake = MasterHandshake(body_size=24, max_offset=4096, epoch=2)
    assert encode_master_handshake(handshake) == MASTER_HANDSHAKE
    assert decode_master_handshake(MASTER_HANDSHAKE) == handshake
    entries = [EpochEntry(1, 0), EpochEntry(2, 2048)]
    assert encode_epoch_body(entries) == EPOCH_BODY
    assert decode_epoch_body(EPOCH_BODY) == entries


def test_a_transfer_carries_epoch_and_confirmed_offset() -> None:
    transfer = MasterTransfer(256, 4096, 2, 2048, 3840)
    assert encode_master_transfer(transfer) == MASTER_TRANSFER
    assert decode_master_transfer(MASTER_TRANSFER) == transfer
    assert encode_slave_transfer(4096) == SLAVE_TRANSFER
    assert decode_slave_transfer(SLAVE_TRANSFER) == 4096


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
        (decode_slave_handshake, "00000002 0001 0000 0000000000000003"),
        (decode_slave_handshake, "00000001 0002 0000 0000000000000003"),
        (decode_master_handshake, "00000000 00000018 0000000000001000 00000002"),
        (decode_master_handshake, "00000001 00000019 0000000000001000 00000002"),
        (decode_master_handshake, "00000001 fffffff4 0000000000001000 00000002"),
        (decode_master_handshake, "00000001 00000018 8000000000001000 00000002"),
        (decode_slave_transfer, "00000001 0000000000001000"),
        (decode_slave_transfer, "00000002 8000000000001000"),
        (
            decode_master_transfer,
            "00000001 00000100 0000000000001000 00000002 0000000000000800 0000000000000f00",
        ),
        (
            decode_master_transfer,
            "00000002 ffffffff 0000000000001000 00000002 0000000000000800 0000000000000f00",
        ),
        (decode_epoch_body, "00000001 00000000000000"),
    ],
)
def test_a_number_that_no_honest_peer_sends_is_refused(decode: Callable[[bytes], object], frame: str) -> None:
    with pytest.raises(ProtocolError):
        decode(bytes.fromhex(frame))
