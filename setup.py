"""Builds the compiled modules; everything else is in pyproject.toml.

Each is a typed .py that runs unchanged without compilation. Where Cython or a C compiler is missing the build
goes on without it, and the engine runs on the .py sources.
"""

from __future__ import annotations

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

COMPILED_MODULES = ("engine.protocol._records_cy",)
"""Every module that is compiled: equal to the `_cy.py` files on disk (tests/architecture compares)."""


class BuildIfPossible(build_ext):
    """`optional` forgives a compiler that fails, not one that is not there."""

    def build_extension(self, ext: Extension) -> None:
        try:
            super().build_extension(ext)
        except OSError as error:
            self.warn(f"{ext.name} stays uncompiled: {error}")


def compiled_extensions() -> list[Extension]:
    try:
        from Cython.Build import cythonize
    except ImportError:
        return []
    extensions = [
        Extension(name, [name.replace(".", "/") + ".py"], optional=True) for name in COMPILED_MODULES
    ]
    built: list[Extension] = cythonize(extensions, quiet=True)
    return built


# Tests import COMPILED_MODULES from here; only a build runs setup().
if __name__ == "__main__":
    setup(ext_modules=compiled_extensions(), cmdclass={"build_ext": BuildIfPossible})
