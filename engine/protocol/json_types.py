"""How a type hint of a body field reads and writes JSON; `wire` compiles bodies out of these.

Reading is as lenient as fastjson: numbers may be strings and strings numbers, enums names or ordinals. A
value that cannot be what the hint says raises ValueError (or OverflowError), which `wire` turns into a
`BadRequest` that names the field. A class is known to be a body by its `from_json`.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable
from enum import Enum, IntEnum
from typing import Annotated, Any, Union, cast, get_args, get_origin

from engine.protocol import fastjson

Int32 = Annotated[int, 32]
Int64 = Annotated[int, 64]

Reader = Callable[[Any], Any]
Writer = Callable[[Any], Any]


def without_none(hint: Any) -> Any:
    """`X | None` is read like X: None is the absent field."""
    if get_origin(hint) in (types.UnionType, Union):
        (inner,) = (part for part in get_args(hint) if part is not type(None))
        return inner
    return hint


def is_body(hint: Any) -> bool:
    return isinstance(hint, type) and hasattr(hint, "from_json")


def is_enum(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, Enum)


def parse_int(text: str) -> int:
    # int() alone would take "1_0" and " 1 ", which no RocketMQ peer means as a number.
    if text.isdigit() or (text[0] in "+-" and text[1:].isdigit()):
        return int(text)
    raise ValueError(text)


def missing() -> Any:
    """The default of a field that has none."""
    raise ValueError("missing")


def json_reader(hint: Any) -> Reader:
    hint = without_none(hint)
    if hint is Any:
        return _same
    if hint in _SCALAR_READERS:
        return _SCALAR_READERS[hint]
    if is_body(hint):
        return cast(Reader, hint.from_json)
    if is_enum(hint):
        return enum_reader(hint, missing)
    origin, parts = get_origin(hint), get_args(hint)
    if origin is dict:
        return _map_reader(_key_reader(parts[0]), json_reader(parts[1]))
    if origin in (tuple, frozenset):
        return _items_reader(origin, json_reader(parts[0]))
    raise TypeError(f"no JSON form for {hint!r}")


def json_writer(hint: Any) -> Writer | None:
    """How a value becomes plain JSON; None when it already is."""
    hint = without_none(hint)
    if is_body(hint):
        return lambda body: body.to_json()
    if is_enum(hint):
        return lambda member: member.name
    origin, parts = get_origin(hint), get_args(hint)
    if origin is dict:
        return _map_writer(json_writer(parts[1]))
    if origin is frozenset:
        return sorted
    if origin is tuple:
        return _items_writer(json_writer(parts[0]))
    return None


def _map_writer(write: Writer | None) -> Writer | None:
    return None if write is None else lambda table: {key: write(value) for key, value in table.items()}


def _items_writer(write: Writer | None) -> Writer | None:
    return None if write is None else lambda items: [write(item) for item in items]


def _same(raw: Any) -> Any:
    return raw


def _map_reader(read_key: Reader, read: Reader) -> Reader:
    def read_map(raw: Any) -> dict[Any, Any]:
        if not isinstance(raw, dict):
            raise ValueError(raw)
        return {read_key(key): read(value) for key, value in raw.items() if value is not None}

    return read_map


def _items_reader(collection: Callable[[Iterable[Any]], Any], read: Reader) -> Reader:
    def read_items(raw: Any) -> Any:
        if not isinstance(raw, list):
            raise ValueError(raw)
        return collection(read(item) for item in raw if item is not None)

    return read_items


def _key_reader(hint: Any) -> Reader:
    if not is_body(hint):
        return _SCALAR_READERS[hint]

    def read_key(key: Any) -> Any:
        if isinstance(key, hint):
            return key
        if isinstance(key, fastjson.ObjectKey):
            return hint.from_json(key.to_json())
        # Late fastjson also writes a bean key as a string that holds its JSON.
        return hint.decode(key.encode())

    return read_key


def enum_reader(enum: type[Enum], make_default: Callable[[], Any]) -> Reader:
    """Names or ordinals; what a newer peer invents reads as the field's default."""
    table: dict[object, Enum] = {}
    for ordinal, member in enumerate(enum):
        position = int(member) if isinstance(member, IntEnum) else ordinal
        table.update({member.name: member, position: member, str(position): member})

    def read_enum(raw: Any) -> Any:
        if isinstance(raw, (dict, list)):
            raise ValueError(raw)
        found = table.get(raw)
        return make_default() if found is None else found

    return read_enum


def _json_text(raw: Any) -> str:
    if isinstance(raw, str):
        return raw
    if isinstance(raw, bool):
        return "true" if raw else "false"
    if isinstance(raw, (int, float)):
        return str(raw)
    raise ValueError(raw)


def _json_bool(raw: Any) -> bool:
    if isinstance(raw, bool):
        return raw
    if isinstance(raw, str):
        return raw.lower() in ("true", "1")
    if isinstance(raw, (int, float)):
        return raw != 0
    raise ValueError(raw)


def _json_int(raw: Any, bits: int) -> int:
    if isinstance(raw, str):
        raw = raw.strip()
        value = parse_int(raw) if raw else 0
    elif isinstance(raw, (int, float)):
        value = int(raw)
    else:
        raise ValueError(raw)
    if -(1 << (bits - 1)) <= value < 1 << (bits - 1):
        return value
    raise ValueError(raw)


def _json_int32(raw: Any) -> int:
    if type(raw) is int and -0x8000_0000 <= raw <= 0x7FFF_FFFF:  # nearly always, and tables have a million
        return raw
    return _json_int(raw, 32)


def _json_int64(raw: Any) -> int:
    if type(raw) is int and -0x8000_0000_0000_0000 <= raw <= 0x7FFF_FFFF_FFFF_FFFF:
        return raw
    return _json_int(raw, 64)


def _json_float(raw: Any) -> float:
    if isinstance(raw, (str, int, float)):
        return float(raw)
    raise ValueError(raw)


_SCALAR_READERS: dict[Any, Reader] = {
    str: _json_text,
    bool: _json_bool,
    Int32: _json_int32,
    Int64: _json_int64,
    float: _json_float,
}
