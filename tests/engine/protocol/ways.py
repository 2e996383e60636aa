"""The ways in which a compiled module runs: as installed, from its source, and without Cython at all."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from unittest import mock


def ways_of(
    installed: ModuleType, below: dict[str, dict[str, ModuleType]] | None = None
) -> dict[str, ModuleType]:
    """The module in all three ways, each on the same way of the compiled modules `below` it, by name."""
    ways = {"pure": {}, "without_cython": {"cython": None}}
    loaded = {way: _load_source(installed, way, hidden, below or {}) for way, hidden in ways.items()}
    return {"pure": loaded["pure"], "installed": installed, "without_cython": loaded["without_cython"]}


def _load_source(
    installed: ModuleType, way: str, hidden: dict[str, None], below: dict[str, dict[str, ModuleType]]
) -> ModuleType:
    """The .py itself, even where a compiled module stands in front of it."""
    assert installed.__file__ is not None
    stem = Path(installed.__file__).name.split(".")[0]
    name = f"{stem}_{way}"
    spec = importlib.util.spec_from_file_location(name, Path(installed.__file__).with_name(f"{stem}.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    in_place = {full_name: modules[way] for full_name, modules in below.items()}
    # The module itself too: a NamedTuple in it looks up the module that it was made in.
    with mock.patch.dict(sys.modules, {**hidden, **in_place, name: module}):
        spec.loader.exec_module(module)
    return module
