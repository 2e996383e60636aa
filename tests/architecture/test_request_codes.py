"""docs/request-codes.md names the module and method of every request code that is served.

The page is written by `python -m tests.architecture.test_request_codes`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from engine.protocol.codes import RequestCode

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "request-codes.md"
HEAD = """# Request codes and their modules

Where each request code is served: open the module and look for the method. What a code does, and which
codes are refused, is in [compatibility.md](compatibility.md). A test compares this page with the code; after
a change run `python -m tests.architecture.test_request_codes`.

| Code | Name | Module | Method |
|---|---|---|---|
"""


CLIENT = ROOT / "engine/client/instance/server_requests.py"
HANDLED = re.compile(r"\| (\d+) \| \w+ \| [^|]+ \| handled \|")


def handlers() -> list[Path]:
    return [*sorted((ROOT / "engine").glob("broker/**/handlers*.py")), ROOT / "engine/namesrv/handlers.py"]


def codes_in(node: ast.AST) -> list[RequestCode]:
    return [
        RequestCode[each.attr]
        for each in ast.walk(node)
        if isinstance(each, ast.Attribute)
        and isinstance(each.value, ast.Name)
        and each.value.id == "RequestCode"
    ]


def method_of(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else ast.unparse(node)


def routes_in(path: Path) -> Iterator[tuple[RequestCode, str]]:
    """From the dicts `{RequestCode.X: self.method}` and `dict.fromkeys(codes, self.method)` of a module."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef) or function.name not in ("routes", "__init__"):
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.Dict):
                for key, value in zip(node.keys, node.values, strict=True):
                    yield from ((code, method_of(value)) for code in codes_in(key) if key is not None)
            elif isinstance(node, ast.Call) and ast.unparse(node.func) == "dict.fromkeys":
                named = codes_in(node.args[0]) or codes_in(function)
                yield from ((code, method_of(node.args[1])) for code in named)


def asked_of_clients() -> Iterator[tuple[RequestCode, str]]:
    """What brokers ask of our client: `if request.code == RequestCode.X` in a method."""
    for function in ast.walk(ast.parse(CLIENT.read_text(encoding="utf-8"))):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            compared = [node for node in ast.walk(function) if isinstance(node, ast.Compare)]
            yield from ((code, function.name) for node in compared for code in codes_in(node))


def rows() -> list[tuple[int, str, str, str]]:
    found = [(path, *route) for path in handlers() for route in routes_in(path)]
    found += [(CLIENT, *route) for route in asked_of_clients()]
    return sorted(
        {(int(code), code.name, path.relative_to(ROOT).as_posix(), method) for path, code, method in found}
    )


def page() -> str:
    return HEAD + "".join(f"| {row[0]} | {row[1]} | `{row[2]}` | `{row[3]}` |\n" for row in rows())


def test_the_page_names_the_module_of_every_code() -> None:
    assert PAGE.read_text(encoding="utf-8") == page()


def test_every_code_that_is_handled_is_on_the_page() -> None:
    compatibility = (ROOT / "docs" / "compatibility.md").read_text(encoding="utf-8")
    handled = {int(code) for code in HANDLED.findall(compatibility)}
    assert handled and handled <= {code for code, *_ in rows()}


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
