"""RocketMQ's signature: golden values (made by the Java client's own signer), and what must not pass."""

from __future__ import annotations

import pytest

from engine.errors import BadInput
from engine.protocol.commands import Command, decode_header, encode_command
from engine.protocol.signing import (
    Credentials,
    is_signed_with,
    sign,
    signature_of,
    signed_content,
)

WHO = Credentials("rocketmq2", "12345678")


def signed(fields: dict[str, str], body: bytes = b"", version: int = 479, **more: int) -> Command:
    command = Command(310, fields=dict(fields), body=body, version=version, **more)  # type: ignore[arg-type]
    sign(command, WHO)
    return command


def passes(command: Command, secret: bytes = b"12345678") -> bool:
    return is_signed_with(secret, command.fields, command.version, command.body)


def test_the_content_is_the_values_in_the_order_of_their_names_and_the_body() -> None:
    fields = {"topic": "T", "AccessKey": "ak", "b": "2", "Signature": "old", "a": "1"}
    assert signed_content(fields, 479, b"body") == b"ak12Tbody"


def test_names_are_ordered_as_java_orders_them() -> None:
    """UTF-16 units: an astral character comes before U+FF5E, though its code point is higher."""
    assert (
        signed_content({"\uff5e": "late", "\U0001f600": "early", "a": "first"}, 479, b"") == b"firstearlylate"
    )


@pytest.mark.parametrize(
    ("content", "secret", "expected"),
    [
        ("RocketMQ", "12345678", b"IUc8rrO/0gDch8CjObLQsW2rsiA="),
        ("", "key", b"9Cuw7rAY671Fl65yE3EexgdghD8="),
        ("topicé漢字", "sëcret", b"YZOfIuBsJ4aHU8vS/bof3JbTg1A="),
        ("x" * 1000, "k" * 100, b"G5qaoKNW9e2rwEhggMxQY1KLql4="),
    ],
)
def test_signatures_are_those_of_apaches_own_signer(content: str, secret: str, expected: bytes) -> None:
    """AclSigner.calSignature of 4.9.7 and of 5.3.3 gave these."""
    assert signature_of(content.encode(), secret.encode()) == expected


def test_a_signed_request_passes() -> None:
    assert passes(signed({"a": "group", "b": "topic"}, b"hello"))


def test_signing_again_replaces_the_signature() -> None:
    command = signed({"b": "topic"})
    command.fields["b"] = "other"
    sign(command, WHO)
    assert passes(command)


def test_a_security_token_is_signed_too() -> None:
    command = Command(11, fields={"topic": "t"})
    sign(command, Credentials("ak", "12345678", "token"))
    assert passes(command)
    command.fields["SecurityToken"] = "other"
    assert not passes(command)


@pytest.mark.parametrize("version", [399, 400])
def test_the_unique_key_flag_is_signed_since_4_9_4(version: int) -> None:
    command = signed({"topic": "t", "key": "k"}, version=version)
    command.fields["_UNIQUE_KEY_QUERY"] = "true"
    assert passes(command) is (version <= 399)


def test_what_changes_behind_the_signature_is_noticed() -> None:
    for name, value in {"x": "added", "b": "topic2", "AccessKey": "admin"}.items():
        command = signed({"a": "group", "b": "topic"}, b"body")
        command.fields[name] = value
        assert not passes(command), name
    command = signed({"b": "topic"}, b"body")
    command.body = b"other"
    assert not passes(command)


@pytest.mark.parametrize("given", ["", "x", "A" * 28, "\x00", "é" * 28, "A" * 100_000])
def test_a_wrong_signature_fails(given: str) -> None:
    command = signed({"b": "topic"})
    command.fields["Signature"] = given
    assert not passes(command)


def test_a_missing_signature_fails() -> None:
    command = signed({"b": "topic"})
    del command.fields["Signature"]
    assert not passes(command)


def test_another_secret_fails() -> None:
    assert not passes(signed({"b": "topic"}), b"12345679")


@pytest.mark.parametrize("serialize_type", [0, 1])
def test_a_signature_survives_both_header_types(serialize_type: int) -> None:
    frame = encode_command(
        signed({"b": "topic", "i": "KEYS\x01k\x02"}, b"body", serialize_type=serialize_type)
    )
    size = int.from_bytes(frame[5:8])
    assert passes(decode_header(serialize_type, frame[8 : 8 + size], frame[8 + size :]))


def test_of_two_fields_with_one_name_the_one_that_counts_is_the_one_that_was_signed() -> None:
    """What is checked and what is handled are the same map, whichever of the two wins."""
    command = signed({"b": "mine"})
    header = (
        b'{"code":310,"extFields":{"b":"mine","AccessKey":"rocketmq2","Signature":"%b","b":"theirs"},'
        b'"opaque":1,"version":479}' % command.fields["Signature"].encode()
    )
    received = decode_header(0, header, b"")
    assert received.fields["b"] == "theirs"
    assert not passes(received)


def test_credentials_need_both_parts_and_show_no_secret() -> None:
    assert "12345678" not in repr(WHO)
    for pair in (("", "x"), ("x", "")):
        with pytest.raises(BadInput):
            Credentials(*pair)
