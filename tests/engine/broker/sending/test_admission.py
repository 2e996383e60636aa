"""What the broker adds to a message's properties, and what it takes out."""

from __future__ import annotations

from engine.broker.sending.admission import StoredProperties
from engine.protocol.properties import decode_properties

ADDED = {"MSG_REGION": "eu", "TRACE_ON": "true", "CLUSTER": "C"}


def extend(text: str, trace_on: bool = True) -> tuple[dict[str, str], str, str]:
    stored, key = StoredProperties("C", "eu", lambda now_ms: f"made-at-{now_ms}").extend(text, trace_on, 7)
    return decode_properties(stored.decode()), key, stored.decode()


def test_the_brokers_own_are_added() -> None:
    properties, key, _ = extend("TAGS\x01a\x02UNIQ_KEY\x01u1\x02")
    assert properties == {"TAGS": "a", "UNIQ_KEY": "u1", **ADDED}
    assert key == "u1"


def test_a_missing_unique_key_is_made() -> None:
    properties, key, _ = extend("")
    assert properties == {"UNIQ_KEY": "made-at-7", **ADDED}
    assert key == "made-at-7"


def test_a_missing_last_separator_does_not_join_two_properties() -> None:
    properties, _, _ = extend("UNIQ_KEY\x01u1\x02KEYS\x01k")
    assert properties == {"UNIQ_KEY": "u1", "KEYS": "k", **ADDED}


def test_a_message_that_is_sent_on_does_not_pile_them_up() -> None:
    _, _, once = extend("UNIQ_KEY\x01u1\x02TAGS\x01a\x02")
    properties, _, twice = extend(once, trace_on=False)
    assert len(twice) <= len(once) + 1
    assert properties == {"UNIQ_KEY": "u1", "TAGS": "a", **ADDED, "TRACE_ON": "false"}


def test_the_pop_receipt_is_taken_out() -> None:
    properties, _, _ = extend("UNIQ_KEY\x01u1\x02POP_CK\x010 1 2\x02")
    assert "POP_CK" not in properties
