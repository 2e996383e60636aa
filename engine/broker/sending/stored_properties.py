"""The properties of a message as they are stored: what the producer sent, and what the broker adds.

Added are MSG_REGION, TRACE_ON and CLUSTER, and a UNIQ_KEY when there is none; POP_CK is taken out. The text
is appended to rather than taken apart, because all of this is on the hot path; a message that already carries
the broker's own names (one that was consumed and sent on) takes the slow way, so that they do not pile up.
"""

from __future__ import annotations

from collections.abc import Callable

from engine.protocol.properties import PAIR_END, Property, decode_properties, encode_properties, find_property


class StoredProperties:
    """`extend(text, trace_on, now_ms) -> (bytes to store, unique key)`."""

    def __init__(self, cluster: str, region: str, make_unique_key: Callable[[int], str]) -> None:
        self._added = {Property.MSG_REGION: region, Property.CLUSTER: cluster}
        self.suffixes = {flag: self._suffix(flag) for flag in (True, False)}
        """What is added to every message, by whether it may be traced."""
        self._make_unique_key = make_unique_key

    def _suffix(self, trace_on: bool) -> bytes:
        return encode_properties({**self._added, Property.TRACE_ON: "true" if trace_on else "false"}).encode()

    def extend(self, text: str, trace_on: bool, now_ms: int) -> tuple[bytes, str]:
        if "CLUSTER\x01" in text or "POP_CK\x01" in text:
            text = self._without_ours(text)
        if text and text[-1] != PAIR_END:
            text += PAIR_END
        unique_key = find_property(text, Property.UNIQ_KEY)
        if unique_key is None:
            unique_key = self._make_unique_key(now_ms)
            text = f"{text}UNIQ_KEY\x01{unique_key}\x02"
        return text.encode() + self.suffixes[trace_on], unique_key

    def _without_ours(self, text: str) -> str:
        kept = decode_properties(text)
        for name in (*self._added, Property.TRACE_ON, Property.POP_CK):
            kept.pop(name, None)
        return encode_properties(kept)
