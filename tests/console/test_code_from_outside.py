"""No value that came over the wire or out of the database becomes code, a command line or an object.

Processes are started at a few places alone, by a list of arguments and never through a shell; modules are
loaded by names that stand in the sources; YAML makes plain values.
"""

from __future__ import annotations

import ast

import pytest

from tests.architecture.sources import modules
from tests.architecture.test_forbidden import forbidden_uses

# Where it is needed, and what for.
NEEDED = {
    "platform/clusters/api/urls.py:importlib.import_module": "our own modules, listed there",
    "platform/clusters/provisioning/driver.py:subprocess": "starts the launcher of engine processes",
    "platform/clusters/provisioning/launcher.py:os.execve": "becomes the engine process",
    "platform/clusters/provisioning/launcher.py:os.fork": "lets it outlive the agent",
    "platform/clusters/provisioning/releases.py:subprocess": "asks an installed engine for its version",
    "platform/clusters/selectors/document_text.py:yaml": "documents, by a loader below SafeLoader",
    "platform/clusters/tasks/__init__.py:importlib.import_module": "our own modules, listed there",
    "platform/console/api/urls.py:importlib.import_module": "our own modules, listed there",
    "platform/console/children.py:ctypes": "children that end with their parent",
    "platform/console/children.py:subprocess": "the processes of `manage.py up`",
    "platform/console/embedded_redis.py:subprocess": "the embedded Redis",
}


def test_nothing_else_of_the_platform_starts_processes_or_makes_code() -> None:
    found = {f"{module.path}:{use}" for module in modules("platform") for use in forbidden_uses(module.tree)}
    assert {place for place in found if not place.startswith("platform/reports/")} == set(NEEDED)


def test_no_shell_is_asked_and_no_loader_of_yaml_makes_objects() -> None:
    wrong = [
        f"{module.path}:{node.lineno}: {bad}"
        for module in modules("platform")
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call)
        for bad in _unsafe(node)
    ]
    assert not wrong


def _unsafe(call: ast.Call) -> list[str]:
    name = ast.unparse(call.func)
    given = {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords}
    found = []
    if given.get("shell", "False") != "False":
        found.append("shell")
    if name.startswith("yaml.") and given.get("Loader", "yaml.SafeLoader") not in (
        "yaml.SafeLoader",
        "_Loader",
    ):
        found.append("yaml loader")
    if name in ("yaml.load", "yaml.load_all") and "Loader" not in given:
        found.append("yaml loader")
    if name in ("yaml.unsafe_load", "yaml.full_load", "mark_safe", "RawSQL") or name.endswith(".extra"):
        found.append(name)
    return found


@pytest.mark.parametrize(
    "source",
    [
        "subprocess.run(text, shell=True)",
        "yaml.load(text)",
        "yaml.load(text, Loader=yaml.Loader)",
        "yaml.unsafe_load(text)",
        "mark_safe(text)",
        "rows.extra(where=[text])",
    ],
)
def test_each_of_them_would_be_seen(source: str) -> None:
    call = ast.parse(source, mode="eval").body
    assert isinstance(call, ast.Call) and _unsafe(call)
