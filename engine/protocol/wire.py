"""One codec between frozen structs and the two shapes that RocketMQ sends: string maps and JSON objects.

A *header* is a struct that derives from `Header`: its fields travel as a map of strings (extFields).
A *body* derives from `Body`: it travels as a JSON object in fastjson's dialect. In both, a field is called
on the wire like its camelCase name unless `field(name="clientID")` says otherwise. Structs rather than
dataclasses: there are over two hundred of them, and half of a broker's start was the making of dataclasses.

The type hint decides how a field is read. `Int32` and `Int64` are ints whose range is checked; a field
without a default is required. What a class needs is compiled once, at its first use, into a tuple of steps;
no reflection happens per message.

Tolerance, as Java's reader has it: unknown names are ignored; a boolean is true when it spells "true" in any
case; in bodies numbers may be strings and strings numbers, enums names or ordinals, and null means absent.
An empty string means absent too, except for a required string: a binary header cannot tell the two apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, NamedTuple, Self, TypeVar, get_type_hints

from msgspec import NODEFAULT, Struct
from msgspec.structs import FieldInfo, asdict, fields

from engine.errors import BadRequest
from engine.protocol import fastjson
from engine.protocol._headers_cy import BOOL, INT32, INT64, REQUIRED, TEXT, HeaderStep
from engine.protocol._headers_cy import header_arguments as _header_arguments
from engine.protocol.json_types import (
    Int32,
    Int64,
    Reader,
    Writer,
    enum_reader,
    is_enum,
    json_reader,
    json_writer,
    missing,
    without_none,
)

__all__ = ["Body", "Header", "Int32", "Int64", "camel_case", "decode_list", "encode_list", "repr_without"]

_T = TypeVar("_T", bound="Body")


def camel_case(name: str) -> str:
    """As structs rename their fields; for settings, which are named like them."""
    first, *rest = name.split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in rest)


def repr_without(struct: Struct, secret: str) -> str:
    """What is said of a struct with a field that must not be seen in a log."""
    shown = ", ".join(f"{name}={value!r}" for name, value in asdict(struct).items() if name != secret)
    return f"{type(struct).__name__}({shown})"


# --- headers ---------------------------------------------------------------------------------------


_KINDS: dict[Any, int] = {str: TEXT, bool: BOOL, Int32: INT32, Int64: INT64}


class Header(Struct, frozen=True, rename="camel"):
    """Base of typed extFields."""

    @classmethod
    def decode(cls, ext_fields: Mapping[str, str]) -> Self:
        return cls(*header_arguments(cls, ext_fields))

    def encode(self) -> dict[str, str]:
        encoded: dict[str, str] = {}
        for wire, attribute, _, _ in _header_steps.get(type(self)) or _compile_header(type(self)):
            value = getattr(self, attribute)
            if value is True:
                encoded[wire] = "true"
            elif value is False:
                encoded[wire] = "false"
            elif value is not None:
                encoded[wire] = str(value)
        return encoded


def header_arguments(cls: type[Header], ext_fields: Mapping[str, str]) -> list[Any]:
    """The decoded values in the order of the class's fields."""
    fields = ext_fields if type(ext_fields) is dict else dict(ext_fields)
    return _header_arguments(cls.__name__, _header_steps.get(cls) or _compile_header(cls), fields)


_header_steps: dict[type[Header], tuple[HeaderStep, ...]] = {}


def _compile_header(cls: type[Header]) -> tuple[HeaderStep, ...]:
    hints = get_type_hints(cls, include_extras=True)
    steps = tuple(_header_step(field, without_none(hints[field.name])) for field in fields(cls))
    _header_steps[cls] = steps
    return steps


def _header_step(field: FieldInfo, hint: Any) -> HeaderStep:
    default = REQUIRED if field.default is NODEFAULT else field.default
    return field.encode_name, field.name, _KINDS[hint], default


# --- bodies ----------------------------------------------------------------------------------------


class _BodyStep(NamedTuple):
    wire: str
    also: str | None
    attribute: str
    read: Reader
    write: Writer | None
    make_default: Callable[[], Any]


class Body(Struct, frozen=True, rename="camel"):
    """Base of typed JSON bodies."""

    also: ClassVar[Mapping[str, str]] = {}
    """Older or longer names that readers accept too, by the name on the wire."""

    @classmethod
    def from_json(cls, obj: Any) -> Self:
        if not isinstance(obj, dict):
            raise BadRequest(f"{cls.__name__} must be a JSON object")
        arguments: list[Any] = []
        wire = ""
        try:
            for wire, also, _, read, _, make_default in _body_steps.get(cls) or _compile_body(cls):
                raw = obj.get(wire)
                if raw is None and also:
                    raw = obj.get(also)
                arguments.append(make_default() if raw is None else read(raw))
        except (ValueError, OverflowError):
            raise BadRequest(f"{cls.__name__}.{wire} has a missing or bad value", field=wire) from None
        return cls(*arguments)

    def to_json(self) -> dict[str, Any]:
        """camelCase members, None left out; keys of maps stay ints and values until they are written."""
        members: dict[str, Any] = {}
        for wire, _, attribute, _, write, _ in _body_steps.get(type(self)) or _compile_body(type(self)):
            value = getattr(self, attribute)
            if value is not None:
                members[wire] = value if write is None else write(value)
        return members

    @classmethod
    def decode(cls, data: bytes | bytearray | memoryview) -> Self:
        return cls.from_json(fastjson.loads(data))

    def encode(self) -> bytes:
        return fastjson.dumps(self.to_json())


def encode_list(bodies: Iterable[Body]) -> bytes:
    return fastjson.dumps([body.to_json() for body in bodies])


def decode_list(cls: type[_T], data: bytes | bytearray | memoryview) -> list[_T]:
    items = fastjson.loads(data)
    if not isinstance(items, list):
        raise BadRequest(f"a JSON array of {cls.__name__} was expected")
    return [cls.from_json(item) for item in items]


_body_steps: dict[type[Body], tuple[_BodyStep, ...]] = {}


def _compile_body(cls: type[Body]) -> tuple[_BodyStep, ...]:
    hints = get_type_hints(cls, include_extras=True)
    steps = tuple(_body_step(cls, field, without_none(hints[field.name])) for field in fields(cls))
    _body_steps[cls] = steps
    return steps


def _body_step(cls: type[Body], field: FieldInfo, hint: Any) -> _BodyStep:
    make_default = missing
    if field.default_factory is not NODEFAULT:
        make_default = field.default_factory
    elif field.default is not NODEFAULT:
        make_default = _constant(field.default)
    read = json_reader(hint)
    if is_enum(hint):
        read = enum_reader(hint, make_default)
    wire = field.encode_name
    return _BodyStep(wire, cls.also.get(wire), field.name, read, json_writer(hint), make_default)


def _constant(value: Any) -> Callable[[], Any]:
    return lambda: value
