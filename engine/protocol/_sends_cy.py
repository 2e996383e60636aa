# cython: language_level=3, boundscheck=True, wraparound=False
# mypy: disable-error-code="untyped-decorator,valid-type,no-any-return,unused-ignore"
# (C types are not Python types; the public function is plainly typed.)
"""Reads the header of a plain send, compiled where a compiler exists.

Plain is what nearly every SEND_MESSAGE_V2 is: one message for an ordinary topic, with a unique key, and
nothing in its flags or properties that asks for more than to be stored. Whatever is missing, odd or special
is not plain, and is left to `headers.send`: nothing is refused here. The same source runs uncompiled with the
same results. Pure; safe from any thread.
"""

from __future__ import annotations

from engine.protocol.properties import NAME_END, PAIR_END, Property
from engine.protocol.sys_flags import INNER_BATCH, NEED_UNWRAP, TRANSACTION_MASK

try:
    import cython
except ImportError:
    from engine.protocol import cython_shim as cython  # type: ignore[no-redef]

PlainSend = tuple[str, int, int, int, int, int, bytes, str]
"""Topic, queue id, flag, system flag, born timestamp, reconsume times, stored properties, unique key."""

_SPECIAL_BITS = cython.declare(cython.longlong, TRANSACTION_MASK | INNER_BATCH | NEED_UNWRAP)
_NOT_A_NUMBER = cython.declare(cython.longlong, -1)
_INT32_DIGITS = cython.declare(cython.Py_ssize_t, 9)
_INT64_DIGITS = cython.declare(cython.Py_ssize_t, 18)
_KEY_START = f"{Property.UNIQ_KEY}{NAME_END}"
_KEY_SIZE = cython.declare(cython.Py_ssize_t, len(_KEY_START))


def is_compiled() -> bool:
    return bool(cython.compiled)


def plain_send(fields: dict[str, str], suffix: bytes) -> PlainSend | None:
    """The send if it is plain; its stored properties are those that it came with and the `suffix`."""
    topic = fields.get("b")
    text = fields.get("i")
    if not topic or not text or topic.startswith("%") or not fields.get("a") or not fields.get("c"):
        return None
    if fields.get("k", "false") != "false" or fields.get("m", "false") != "false" or fields.get("l"):
        return None
    queue_id: cython.longlong = _digits(fields.get("e"), _INT32_DIGITS)
    flag: cython.longlong = _digits(fields.get("h"), _INT32_DIGITS)
    sys_flag: cython.longlong = _digits(fields.get("f"), _INT32_DIGITS)
    born_timestamp: cython.longlong = _digits(fields.get("g"), _INT64_DIGITS)
    reconsume_times: cython.longlong = _digits(fields.get("j") or "0", _INT32_DIGITS)
    if queue_id < 0 or flag < 0 or sys_flag < 0 or born_timestamp < 0 or reconsume_times < 0:
        return None
    if _digits(fields.get("d"), _INT32_DIGITS) < 0 or sys_flag & _SPECIAL_BITS:
        return None
    unique_key = _unique_key(text)
    if unique_key is None:
        return None
    properties = text.encode() + suffix
    return topic, queue_id, flag, sys_flag, born_timestamp, reconsume_times, properties, unique_key


@cython.cfunc
def _unique_key(text: str) -> str | None:
    """The key of a plain message's properties; None when they are not plain or have none.

    Looks for parts of names where that is enough: a false alarm costs nothing but the ordinary path.
    """
    if not text.endswith(PAIR_END) or "DELAY" in text or "TIMER_" in text or "TRAN_MSG" in text:
        return None
    if "CLUSTER\x01" in text or "POP_CK\x01" in text:
        return None
    start: cython.Py_ssize_t = text.rfind(_KEY_START)
    if start < 0 or (start > 0 and not text.startswith(PAIR_END, start - 1)):
        return None
    end: cython.Py_ssize_t = text.find(PAIR_END, start)
    return text[start + _KEY_SIZE : end] or None


@cython.cfunc
def _digits(text: str | None, most: cython.Py_ssize_t) -> cython.longlong:
    """The number that plain ASCII digits say; negative when they are too many to be sure of, or none."""
    if text is None:
        return _NOT_A_NUMBER
    size: cython.Py_ssize_t = len(text)
    if size == 0 or size > most:
        return _NOT_A_NUMBER
    if not cython.compiled:
        return int(text) if text.isascii() and text.isdigit() else _NOT_A_NUMBER
    value: cython.longlong = 0
    for char in text:
        digit: cython.int = ord(char) - 48
        if digit < 0 or digit > 9:
            return _NOT_A_NUMBER
        value = value * 10 + digit
    return value
