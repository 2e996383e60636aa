"""Strategies that build any header or body from its type hints, and the lists of all such classes."""

from __future__ import annotations

import importlib
import pkgutil
from enum import Enum
from typing import Any, get_args, get_origin, get_type_hints

from hypothesis import strategies as st
from msgspec.structs import fields

from engine.protocol import bodies, headers
from engine.protocol.json_types import Int32, Int64, is_body, is_enum, without_none
from engine.protocol.wire import Body, Header

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
INT32S = st.integers(-(2**31), 2**31 - 1)
INT64S = st.integers(-(2**63), 2**63 - 1)
_SCALARS: dict[Any, st.SearchStrategy[Any]] = {
    str: TEXTS,
    bool: st.booleans(),
    Int32: INT32S,
    Int64: INT64S,
    float: st.floats(allow_nan=False, allow_infinity=False),
    Any: st.none(),
}


def classes_of(package: Any, base: type) -> list[type]:
    """Every dataclass below `base` that a module of the package defines."""
    modules = [
        importlib.import_module(f"{package.__name__}.{m.name}")
        for m in pkgutil.iter_modules(package.__path__)
    ]
    found = {
        item
        for module in modules
        for item in vars(module).values()
        if isinstance(item, type) and issubclass(item, base) and item.__module__ == module.__name__
    }
    return sorted(found, key=lambda item: item.__name__)


HEADERS = classes_of(headers, Header)
BODIES = classes_of(bodies, Body)


def values_of(hint: Any, *, blank: bool) -> st.SearchStrategy[Any]:
    inner = without_none(hint)
    if inner is not hint:
        return st.none() | values_of(inner, blank=blank)
    if hint is str and not blank:
        return TEXTS.filter(bool)
    if hint in _SCALARS:
        return _SCALARS[hint]
    if is_body(hint):
        return instances_of(hint)
    if is_enum(hint):
        return st.sampled_from(sorted(hint, key=_name))
    origin, parts = get_origin(hint), get_args(hint)
    if origin is dict:
        return st.dictionaries(values_of(parts[0], blank=blank), values_of(parts[1], blank=blank), max_size=3)
    items = st.lists(values_of(parts[0], blank=blank), max_size=3)
    return items.map(frozenset if origin is frozenset else tuple)


def instances_of(cls: type, *, blank: bool = True) -> st.SearchStrategy[Any]:
    """Instances of a header or body; without `blank`, no empty strings (headers read those as absent)."""
    hints = get_type_hints(cls, include_extras=True)
    return st.builds(cls, *(values_of(hints[field.name], blank=blank) for field in fields(cls)))


def _name(member: Enum) -> str:
    return member.name
