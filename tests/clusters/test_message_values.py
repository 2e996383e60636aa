"""Bodies, tokens and signatures: pure parts of messages."""

from __future__ import annotations

import base64
import zlib

import pytest
from django.core import signing

from clusters.gateway.stored import MAX_BODY_BYTES, stored
from clusters.selectors.bodies import kind_of, view_of
from clusters.selectors.continuing import make_token, question_of, read_token
from clusters.selectors.signatures import Letter, bundles
from console.core.problems import Problem
from engine.client.messages import ReceivedMessage
from engine.protocol.bodies.basics import MessageQueue
from engine.protocol.records import Record
from engine.protocol.sys_flags import ZLIB, with_compression


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b'{"a": 1}', "json"),
        (b" [1, 2] ", "json"),
        (b"{broken}", "text"),
        (b"4711", "text"),
        (b"<img src=x onerror=alert(1)>", "text"),
        ("grüße".encode(), "text"),
        (b"\xff\xfe", "binary"),
        (b"a\x00b", "binary"),
        (b"\x1b[31mred", "binary"),
        (b"", "text"),
    ],
)
def test_the_kind_of_a_body_is_detected(body: bytes, kind: str) -> None:
    assert kind_of(body) == kind


def test_a_large_body_is_cut_and_says_so() -> None:
    view = view_of(b"x" * 1_000_000, 1000)
    assert (view.size, view.is_cut, view.text) == (1_000_000, True, "x" * 1000)


def test_a_cut_through_a_character_leaves_it_out() -> None:
    assert view_of("aü".encode(), 2).text == "a"


def test_bytes_are_base64() -> None:
    view = view_of(b"\xff\x00", 100)
    assert (view.text, view.base64) == (None, base64.b64encode(b"\xff\x00").decode())


def test_a_token_goes_on_for_its_owner_and_question_alone() -> None:
    question = question_of("c", "scan", {"tag": "t", "body": None})
    token = make_token(7, question, [1, ["x"]])
    assert read_token(token, 7, question) == [1, ["x"]]
    other = question_of("c", "scan", {"tag": "u", "body": None})
    forged = signing.dumps([7, question, [1]], salt="another", compress=True)
    turned = token[:-1] + ("A" if token[-1] != "A" else "B")
    for text, user, asked in [
        (token, 8, question),
        (token, 7, other),
        (forged, 7, question),
        (turned, 7, question),
        ("", 7, question),
        ("x" * 100_000, 7, question),
    ]:
        with pytest.raises(Problem) as caught:
            read_token(text, user, asked)
        assert (caught.value.status, caught.value.code) == (400, "continue_token")


def received(body: bytes, sys_flag: int) -> ReceivedMessage:
    host = ("127.0.0.1", 1)
    record = Record(1, 0, 0, 0, 0, 0, 0, sys_flag, 0, host, 0, host, 0, 0, body, "t", {})
    return ReceivedMessage(record, MessageQueue("t", "b", 0))


def test_a_body_that_promises_too_much_is_not_unpacked() -> None:
    bomb = stored(received(zlib.compress(bytes(MAX_BODY_BYTES + 1)), with_compression(0, ZLIB)))
    assert (bomb.body, bomb.body_fault) == (None, "body is larger than the limit once decompressed")
    fits = stored(received(zlib.compress(bytes(MAX_BODY_BYTES)), with_compression(0, ZLIB)))
    assert fits.body is not None and len(fits.body) == MAX_BODY_BYTES
    damaged = stored(received(b"not zlib", with_compression(0, ZLIB)))
    assert damaged.body is None and "cannot be decompressed" in damaged.body_fault


def letter(number: int, **values: object) -> Letter:
    given = {"topic": "orders", "tag": "paid", "key": f"order-{number}", "reason": None} | values
    return Letter(f"id{number}", stored_ms=number, **given)  # type: ignore[arg-type]


def test_letters_with_the_same_cause_are_one_bundle() -> None:
    letters = [letter(n) for n in range(7)]
    letters += [letter(90, tag="sent"), letter(91, reason="EXCEPTION"), letter(92, key=None)]
    found = bundles(letters)
    assert [bundle.count for bundle in found] == [7, 1, 1, 1]
    first = found[0]
    assert (first.signature.key_stem, first.first_ms, first.last_ms) == ("order-", 0, 6)
    assert first.samples == ("id6", "id5", "id4", "id3", "id2")
    assert {bundle.signature.reason for bundle in found} == {None, "EXCEPTION"}
