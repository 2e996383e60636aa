"""The build of the compiled modules."""

from __future__ import annotations

from setup import COMPILED_MODULES, compiled_extensions


def test_every_compiled_module_is_optional() -> None:
    # Otherwise an install fails where there is no C compiler, instead of going on with the Python source.
    assert {extension.name: extension.optional for extension in compiled_extensions()} == dict.fromkeys(
        COMPILED_MODULES, True
    )
