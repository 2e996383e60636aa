"""Frames that no honest client sends, made from a seed. Pure: randomness comes in, bytes go out.

Two families. A *hard* mutant breaks the framing or the header: the server must close that connection and
nothing else. A *soft* mutant is a frame whose header can be read and whose content is odd: the server must
answer or ignore it and go on. A mutant may turn out softer than its family says; only the server's survival
is judged.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import orjson

_INT32_MAX = (1 << 31) - 1
_NUMBERS = (
    -1,
    0,
    1,
    7,
    127,
    128,
    255,
    65535,
    1 << 24,
    _INT32_MAX,
    -(1 << 31),
    1 << 31,
    (1 << 63) - 1,
    1 << 63,
)
_TEXTS = (
    "", " ", "0", "-1", "true", "2147483648", "9223372036854775808", "1e309", "NaN", "null", "../../x", "a/b",
    "%RETRY%", "%RETRY%../../x", "TBW102", "SCHEDULE_TOPIC_XXXX", "\0", "\x01\x02", "\x02" * 50, "x" * 300,
    "é" * 200, "\U0001f600", "__class__", "{0}", "$(id)", "a\nb=c", "+", "0x10", "１２",
)  # fmt: skip
_FIELDS = (
    "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "topic", "queueId",
    "queueOffset", "group", "consumerGroup", "producerGroup", "maxMsgNums", "sysFlag",
    "commitOffset", "suspendTimeoutMillis", "subscription", "expressionType", "offset", "timestamp",
    "key", "maxNum", "beginTimestamp", "endTimestamp", "namespace", "value", "brokerName",
    "brokerAddr", "clusterName", "haServerAddr", "brokerId", "bodyCrc32", "compressed", "clientID",
    "delayLevel", "perm", "readQueueNums", "writeQueueNums", "defaultTopic", "order", "attributes",
    "originMsgId",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Mutant:
    kind: str
    data: bytes
    is_hard: bool


def frame(header: bytes, body: bytes = b"", *, kind: int = 0) -> bytes:
    return struct.pack(">iI", 4 + len(header) + len(body), kind << 24 | len(header)) + header + body


def request(code: int, opaque: int, fields: object = None, body: bytes = b"", **odd: object) -> bytes:
    """A frame with a JSON header; `odd` puts other values into the header itself (`code_` for the code)."""
    header: dict[str, object] = {
        "code": code,
        "opaque": opaque,
        "flag": 0,
        "language": "JAVA",
        "version": 401,
    }
    header["extFields"] = {} if fields is None else fields
    header.update((name.rstrip("_"), value) for name, value in odd.items())
    return frame(orjson.dumps(header, option=orjson.OPT_NON_STR_KEYS), body)


class Breeder:
    """`hard()` and `soft()` give the next mutant; the same seed and templates give the same mutants again."""

    def __init__(self, seed: int, templates: list[bytes], codes: list[int]) -> None:
        self._random = random.Random(seed)
        self._templates = templates
        self._codes = codes
        self._hard: list[Callable[[], bytes]] = [
            self._bad_length,
            self._header_longer_than_frame,
            self._unknown_header_type,
            self._bad_utf8,
            self._deep_json,
            self._huge_json,
            self._not_an_object,
            self._cut,
            self._flipped_prefix,
            self._wrong_header_types,
            self._bad_binary_header,
            self._flipped_body,
            self._noise,
        ]
        self._soft: list[Callable[[], bytes]] = [
            self._odd_fields,
            self._odd_fields,
            self._odd_body,
            self._duplicate_keys,
            self._wrong_field_types,
            self._one_way,
            self._stray_response,
            self._binary_header,
        ]

    def hard(self) -> Mutant:
        make = self._random.choice(self._hard)
        return Mutant(make.__name__, make(), True)

    def soft(self) -> Mutant:
        make = self._random.choice(self._soft)
        return Mutant(make.__name__, make(), False)

    def _template(self) -> bytes:
        return self._random.choice(self._templates)

    def _code(self) -> int:
        return self._random.choice(self._codes)

    def _opaque(self) -> int:
        return self._random.randrange(1 << 20, 1 << 30)

    def _value(self) -> str:
        pick = self._random
        return pick.choice(_TEXTS) if pick.random() < 0.6 else str(pick.choice(_NUMBERS))

    def _bad_length(self) -> bytes:
        length = self._random.choice((-1, 0, 1, 3, -(1 << 31), _INT32_MAX, (16 << 20) + 1, 1 << 30))
        return struct.pack(">i", length) + self._template()[4:]

    def _header_longer_than_frame(self) -> bytes:
        good = self._template()
        (total,) = struct.unpack_from(">i", good)
        longer = self._random.choice((total - 3, total, total + 1, 0xFFFFFF))
        return good[:4] + struct.pack(">I", longer) + good[8:]

    def _unknown_header_type(self) -> bytes:
        good = bytearray(self._template())
        good[4] = self._random.choice((0xFF, 0x80, 2, 3, 127))
        return bytes(good)

    def _bad_utf8(self) -> bytes:
        bad = self._random.choice((b"\xff\xfe", b"\xc3\x28", b"\xed\xa0\x80", b"\xf8\x88\x80\x80\x80"))
        return frame(b'{"code":105,"opaque":1,"flag":0,"extFields":{"topic":"' + bad + b'"}}')

    def _deep_json(self) -> bytes:
        depth = self._random.choice((33, 500, 1100, 20_000))
        opening, closing = self._random.choice(((b"[", b"]"), (b'{"a":', b"}")))
        middle = b"1" if opening != b"[" else b""
        return frame(
            b'{"code":105,"opaque":1,"extFields":' + opening * depth + middle + closing * depth + b"}"
        )

    def _huge_json(self) -> bytes:
        many = {f"k{n}": "v" for n in range(self._random.choice((257, 3000)))}
        long = {"topic": "x" * self._random.choice((70_000, 140_000))}
        return request(self._code(), self._opaque(), self._random.choice((many, long)))

    def _not_an_object(self) -> bytes:
        return frame(
            self._random.choice((b"[]", b"1", b'"x"', b"null", b"", b"{", b"{}", b"nul", b'{"code":1}x'))
        )

    def _cut(self) -> bytes:
        good = self._template()
        return good[: self._random.randrange(1, len(good))]

    def _flipped_prefix(self) -> bytes:
        good = bytearray(self._template())
        good[self._random.randrange(8)] ^= 1 << self._random.randrange(8)
        return bytes(good)

    def _wrong_header_types(self) -> bytes:
        values: tuple[object, ...] = ("x", [], {}, 1.5, True, None, 1 << 40, -(1 << 40), "105", "")
        odd = {f"{self._random.choice(_HEADER_KEYS)}_": self._random.choice(values)}
        return request(self._code(), self._opaque(), None, b"", **odd)

    def _bad_binary_header(self) -> bytes:
        return frame(self._random.randbytes(self._random.randrange(0, 60)), kind=1)

    def _noise(self) -> bytes:
        return self._random.randbytes(self._random.randrange(1, 400))

    def _odd_fields(self) -> bytes:
        names = self._random.sample(_FIELDS, self._random.randrange(1, 20))
        return request(self._code(), self._opaque(), {name: self._value() for name in names})

    def _odd_body(self) -> bytes:
        fields = {name: self._value() for name in self._random.sample(_FIELDS, 6)}
        return request(self._code(), self._opaque(), fields, self._body())

    def _body(self) -> bytes:
        pick = self._random
        return pick.choice(
            (
                pick.randbytes(pick.randrange(1, 300)),
                b"[" * 3000,
                b'{"a":' * 2000,
                b"{1:2,'x':[,,]}",
                b'{"clientID":"c","consumerDataSet":[{"groupName":"../x","subscriptionDataSet":[{}]}]}',
                b'{"topicConfigTable":{"../../x":{"topicName":"../../x","readQueueNums":-1}}}',
                b'{"mqSet":[null,1,{"queueId":"x"}],"clientId":7}',
                b"\x00\x00\x00\x10" + b"\xff" * 12,
                b"rocketmqHome=/x\nlistenPort=1\n=\n\\u12",
                b'{"offsetTable":{"a@b":{"x":"y"}}}',
                orjson.dumps({"x" * 5000: [None] * 50}),
            )
        )

    def _duplicate_keys(self) -> bytes:
        code = str(self._code()).encode()
        return frame(
            b'{"code":' + code + b',"code":105,"opaque":5,"opaque":6,"flag":0,'
            b'"extFields":{"topic":"A","topic":"../B","queueId":"0","queueId":"-1"},"extFields":{}}'
        )

    def _wrong_field_types(self) -> bytes:
        odd = (None, 1, -1, 1.5, True, False, 1 << 62, "x")
        names = self._random.sample(_FIELDS, 8)
        return request(self._code(), self._opaque(), {name: self._random.choice(odd) for name in names})

    def _flipped_body(self) -> bytes:
        """A good request with one bit of its header text or body flipped: may well still be good."""
        good = bytearray(self._template())
        good[self._random.randrange(8, len(good))] ^= 1 << self._random.randrange(8)
        return bytes(good)

    def _one_way(self) -> bytes:
        names = self._random.sample(_FIELDS, 4)
        return request(self._code(), self._opaque(), {name: self._value() for name in names}, flag=2)

    def _stray_response(self) -> bytes:
        return request(self._random.randrange(0, 30), self._random.randrange(0, 50), {"x": "y"}, b"z", flag=1)

    def _binary_header(self) -> bytes:
        name, value = self._random.choice(_FIELDS).encode(), self._value().encode(errors="replace")
        pair = struct.pack(">h", len(name)) + name + struct.pack(">i", len(value)) + value
        code = self._code()
        fixed = struct.pack(">hbhii", code if code < 1 << 15 else 105, 0, 401, self._opaque(), 0)
        return frame(fixed + struct.pack(">ii", 0, len(pair)) + pair, kind=1)


_HEADER_KEYS = ("code", "opaque", "flag", "version", "language", "remark", "extFields")


def every_cut(good: bytes) -> Iterator[Mutant]:
    """The frame cut at each byte."""
    for length in range(1, len(good)):
        yield Mutant("every_cut", good[:length], True)


def every_code(first: int = 0, last: int = 65535) -> Iterator[bytes]:
    """A readable header without any field, for each request code."""
    for code in range(first, last + 1):
        yield request(code, (1 << 20) + code)
