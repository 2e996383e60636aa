"""One RocketMQ request and its answer over a fresh socket, written from the protocol and nothing else.

The harness must not lean on the code it examines, so this does not import ``engine``. JSON headers only.
"""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Mapping
from dataclasses import dataclass

GET_ROUTE_BY_TOPIC = 105
UPDATE_AND_CREATE_TOPIC = 17


@dataclass(frozen=True, slots=True)
class Answer:
    code: int
    remark: str
    fields: Mapping[str, str]
    body: bytes


def call(
    address: str, code: int, fields: Mapping[str, str] | None = None, body: bytes = b"", timeout_s: float = 5
) -> Answer:
    """Sends one request to ``host:port`` and reads its answer."""
    host, port = address.rsplit(":", 1)
    header = json.dumps(
        {
            "code": code,
            "language": "JAVA",
            "version": 479,
            "opaque": 7,
            "flag": 0,
            "extFields": dict(fields or {}),
        }
    ).encode()
    with socket.create_connection((host, int(port)), timeout_s) as connection:
        connection.sendall(struct.pack(">II", 4 + len(header) + len(body), len(header)) + header + body)
        (size,) = struct.unpack(">I", _read(connection, 4))
        frame = _read(connection, size)
    header_size = struct.unpack(">I", frame[:4])[0] & 0xFFFFFF
    reply = json.loads(frame[4 : 4 + header_size])
    return Answer(
        reply["code"], reply.get("remark") or "", reply.get("extFields") or {}, frame[4 + header_size :]
    )


def _read(connection: socket.socket, count: int) -> bytes:
    data = bytearray()
    while len(data) < count:
        chunk = connection.recv(count - len(data))
        if not chunk:
            raise ConnectionError("closed in the middle of an answer")
        data += chunk
    return bytes(data)


def has_route(name_server: str, topic: str) -> bool:
    """Whether the name server is up and knows the topic."""
    try:
        return call(name_server, GET_ROUTE_BY_TOPIC, {"topic": topic}).code == 0
    except OSError:
        return False


def create_topic(broker: str, topic: str, queues: int = 4) -> None:
    """Makes a readable and writable topic, as mqadmin does."""
    fields = {
        "topic": topic,
        "defaultTopic": "TBW102",
        "readQueueNums": str(queues),
        "writeQueueNums": str(queues),
        "perm": "6",
        "topicFilterType": "SINGLE_TAG",
        "topicSysFlag": "0",
        "order": "false",
    }
    answer = call(broker, UPDATE_AND_CREATE_TOPIC, fields)
    assert answer.code == 0, answer


def is_listening(address: str) -> bool:
    host, port = address.rsplit(":", 1)
    try:
        socket.create_connection((host, int(port)), 1).close()
    except OSError:
        return False
    return True
