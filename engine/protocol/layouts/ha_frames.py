"""Frames between a master and its slaves on the HA port: no code, no opaque, only order.

    plain        slave to master        MAXOFFSET 8
                 master to slave        OFFSET 8 · BODYSIZE 4 · body              body 0 = heartbeat
    auto-switch  slave, handshake       STATE 4 (1) · SYNCFROMLASTFILE 2 · ASYNCLEARNER 2 · BROKERID 8
                 master, handshake      STATE 4 (1) · BODYSIZE 4 · MAXOFFSET 8 · EPOCH 4 · body
                                        body: EPOCH 4 · STARTOFFSET 8 for each epoch
                 slave, transfer        STATE 4 (2) · MAXOFFSET 8
                 master, transfer       STATE 4 (2) · BODYSIZE 4 · OFFSET 8 · EPOCH 4 · EPOCHSTARTOFFSET 8
                                        · CONFIRMOFFSET 8 · body

Bodies are raw commit log bytes, cut anywhere. The peer may be anybody who reached the port, so a number that
no honest peer sends is ProtocolError, and whoever sent it never counts as a replica.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from struct import Struct

from engine.errors import ProtocolError
from engine.protocol.layouts.epochs import EpochEntry

Buffer = bytes | bytearray | memoryview

MAX_BODY_BYTES = 4 * 1024 * 1024
"""More than any master is set to send at once (haTransferBatchSize is 32 KiB)."""

_ACK = Struct(">q")
ACK_SIZE = _ACK.size
_PUSH = Struct(">qi")
PUSH_SIZE = _PUSH.size
_SLAVE_HANDSHAKE = Struct(">ihhq")
SLAVE_HANDSHAKE_SIZE = _SLAVE_HANDSHAKE.size
_MASTER_HANDSHAKE = Struct(">iiqi")
MASTER_HANDSHAKE_SIZE = _MASTER_HANDSHAKE.size
_SLAVE_TRANSFER = Struct(">iq")
SLAVE_TRANSFER_SIZE = _SLAVE_TRANSFER.size
_MASTER_TRANSFER = Struct(">iiqiqq")
MASTER_TRANSFER_SIZE = _MASTER_TRANSFER.size
_EPOCH = Struct(">iq")


class HaState(IntEnum):
    READY = 0
    HANDSHAKE = 1
    TRANSFER = 2
    SUSPEND = 3
    SHUTDOWN = 4


@dataclass(frozen=True, slots=True)
class SlaveHandshake:
    sync_from_last_file: bool
    is_async_learner: bool
    broker_id: int


@dataclass(frozen=True, slots=True)
class MasterHandshake:
    body_size: int
    max_offset: int
    epoch: int


@dataclass(frozen=True, slots=True)
class MasterTransfer:
    body_size: int
    offset: int
    epoch: int
    epoch_start_offset: int
    confirm_offset: int


def encode_ack(max_offset: int) -> bytes:
    return _ACK.pack(max_offset)


def decode_ack(buffer: Buffer) -> int:
    _require_size(buffer, ACK_SIZE)
    (max_offset,) = _ACK.unpack(buffer)
    _require(max_offset >= 0, "slave offset")
    return int(max_offset)


def encode_push(offset: int, body_size: int) -> bytes:
    return _PUSH.pack(offset, body_size)


def decode_push(buffer: Buffer) -> tuple[int, int]:
    """Commit log offset and size of the body that follows."""
    _require_size(buffer, PUSH_SIZE)
    offset, body_size = _PUSH.unpack(buffer)
    _require(offset >= 0, "offset")
    _require(0 <= body_size <= MAX_BODY_BYTES, "body size")
    return offset, body_size


def encode_slave_handshake(handshake: SlaveHandshake) -> bytes:
    return _SLAVE_HANDSHAKE.pack(
        HaState.HANDSHAKE, handshake.sync_from_last_file, handshake.is_async_learner, handshake.broker_id
    )


def decode_slave_handshake(buffer: Buffer) -> SlaveHandshake:
    _require_size(buffer, SLAVE_HANDSHAKE_SIZE)
    state, sync_from_last_file, is_async_learner, broker_id = _SLAVE_HANDSHAKE.unpack(buffer)
    _require(state == HaState.HANDSHAKE, "state")
    _require(sync_from_last_file in (0, 1) and is_async_learner in (0, 1), "flags")
    return SlaveHandshake(bool(sync_from_last_file), bool(is_async_learner), broker_id)


def encode_master_handshake(handshake: MasterHandshake) -> bytes:
    return _MASTER_HANDSHAKE.pack(
        HaState.HANDSHAKE, handshake.body_size, handshake.max_offset, handshake.epoch
    )


def decode_master_handshake(buffer: Buffer) -> MasterHandshake:
    _require_size(buffer, MASTER_HANDSHAKE_SIZE)
    state, body_size, max_offset, epoch = _MASTER_HANDSHAKE.unpack(buffer)
    _require(state == HaState.HANDSHAKE, "state")
    _require(0 <= body_size <= MAX_BODY_BYTES and body_size % _EPOCH.size == 0, "body size")
    _require(max_offset >= 0, "master offset")
    return MasterHandshake(body_size, max_offset, epoch)


def encode_epoch_body(entries: Sequence[EpochEntry]) -> bytes:
    return b"".join(_EPOCH.pack(entry.epoch, entry.start_offset) for entry in entries)


def decode_epoch_body(body: Buffer) -> list[EpochEntry]:
    _require(len(body) % _EPOCH.size == 0, "epoch body size")
    return [EpochEntry(epoch, start_offset) for epoch, start_offset in _EPOCH.iter_unpack(body)]


def encode_slave_transfer(max_offset: int) -> bytes:
    return _SLAVE_TRANSFER.pack(HaState.TRANSFER, max_offset)


def decode_slave_transfer(buffer: Buffer) -> int:
    _require_size(buffer, SLAVE_TRANSFER_SIZE)
    state, max_offset = _SLAVE_TRANSFER.unpack(buffer)
    _require(state == HaState.TRANSFER, "state")
    _require(max_offset >= 0, "slave offset")
    return int(max_offset)


def encode_master_transfer(transfer: MasterTransfer) -> bytes:
    return _MASTER_TRANSFER.pack(
        HaState.TRANSFER,
        transfer.body_size,
        transfer.offset,
        transfer.epoch,
        transfer.epoch_start_offset,
        transfer.confirm_offset,
    )


def decode_master_transfer(buffer: Buffer) -> MasterTransfer:
    _require_size(buffer, MASTER_TRANSFER_SIZE)
    state, body_size, offset, epoch, epoch_start_offset, confirm_offset = _MASTER_TRANSFER.unpack(buffer)
    _require(state == HaState.TRANSFER, "state")
    _require(0 <= body_size <= MAX_BODY_BYTES, "body size")
    _require(offset >= 0 and epoch_start_offset >= 0, "offset")
    return MasterTransfer(body_size, offset, epoch, epoch_start_offset, confirm_offset)


def _require_size(buffer: Buffer, size: int) -> None:
    _require(len(buffer) == size, "frame size")


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise ProtocolError(f"HA peer sent an impossible {what}", what=what)
