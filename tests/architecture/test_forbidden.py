"""Nothing that came over the wire can reach a shell, eval or pickle: the engine does not have them at all."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.architecture.sources import Module, assert_only_excused, modules

FORBIDDEN_MODULES = {
    "code",
    "commands",
    "ctypes",
    "dill",
    "importlib",
    "marshal",
    "multiprocessing",
    "pickle",
    "pty",
    "runpy",
    "shelve",
    "subprocess",
    "yaml",
}
# importlib.metadata and importlib.resources read, they do not load code that a text names.
HARMLESS_MODULES = {"importlib.metadata", "importlib.resources"}
# YAML as data; its other loaders make objects that a text names.
HARMLESS_YAML = {"YAMLError", "safe_dump", "safe_load"}
FORBIDDEN_CALLS = {"eval", "exec", "compile", "__import__"}
FORBIDDEN_OS = {"system", "popen", "startfile", "fork", "forkpty", "posix_spawn", "posix_spawnp"}


def forbidden_uses(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if _is_forbidden_module(alias.name))
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield from _forbidden_names(node.module or "", [alias.name for alias in node.names])
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id in FORBIDDEN_CALLS:
                yield node.func.id
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.value.id == "os" and _is_forbidden_os(node.attr):
                yield f"os.{node.attr}"
            elif node.attr.startswith("create_subprocess"):
                yield f"{node.value.id}.{node.attr}"


def _forbidden_names(module: str, names: list[str]) -> Iterator[str]:
    if module == "importlib":
        names = [name for name in names if f"importlib.{name}" not in HARMLESS_MODULES]
        yield from (f"importlib.{name}" for name in names)
    elif module == "yaml":
        yield from (f"yaml.{name}" for name in names if name not in HARMLESS_YAML)
    elif _is_forbidden_module(module):
        yield module
    elif module == "os":
        yield from (f"os.{name}" for name in names if _is_forbidden_os(name))


def _is_forbidden_module(name: str) -> bool:
    return name.split(".")[0] in FORBIDDEN_MODULES and name not in HARMLESS_MODULES


def _is_forbidden_os(name: str) -> bool:
    return name in FORBIDDEN_OS or name.startswith(("exec", "spawn"))


def _places(module: Module) -> dict[str, str]:
    return {f"{module.path}:{use}": "forbidden in the engine" for use in forbidden_uses(module.tree)}


def test_the_engine_has_no_shell_eval_or_pickle() -> None:
    found: dict[str, str] = {}
    for module in modules("engine"):
        found |= _places(module)
    assert_only_excused("forbidden", found)


@pytest.mark.parametrize(
    "source",
    [
        "import subprocess",
        "from pickle import loads",
        "import yaml",
        "from yaml import load",
        "import importlib",
        "from importlib import import_module",
        "eval(text)",
        "os.system(text)",
        "from os import execv",
        "asyncio.create_subprocess_exec(text)",
    ],
)
def test_each_forbidden_use_is_seen(source: str) -> None:
    assert list(forbidden_uses(ast.parse(source)))


@pytest.mark.parametrize(
    "source",
    ["import os", "from importlib import metadata", "from yaml import safe_load", "re.compile(text)"],
)
def test_harmless_relatives_are_let_through(source: str) -> None:
    assert not list(forbidden_uses(ast.parse(source)))
