"""Builds the compiled modules; everything else is in pyproject.toml.

Each is a typed .py that runs unchanged without compilation. Where Cython or a C compiler is missing the build
goes on without it, and the engine runs on the .py sources.
"""

from __future__ import annotations

import os

from setuptools import Extension, setup

COMPILED_MODULES = (
    "engine.protocol._batches_cy",
    "engine.protocol._bytes_cy",
    "engine.protocol._frames_cy",
    "engine.protocol._headers_cy",
    "engine.protocol._index_cy",
    "engine.protocol._places_cy",
    "engine.protocol._properties_cy",
    "engine.protocol._records_cy",
    "engine.protocol._sends_cy",
    "engine.protocol._units_cy",
    "spark.sources._columns_cy",
    "spark.sources._texts_cy",
)
"""Every module that is compiled: equal to the `_cy.py` files on disk (tests/architecture compares)."""


def compiled_extensions() -> list[Extension]:
    try:
        from Cython.Build import cythonize
    except ImportError:
        return []
    # The engine's image is built from `engine` alone, without Spark's modules.
    sources = [_source(name) for name in COMPILED_MODULES]
    here = [source for source in sources if os.path.exists(source.sources[0])]
    built: list[Extension] = cythonize(here, quiet=True)
    for extension in built:
        # Set here because cythonize makes extensions of its own and forgets this mark.
        extension.optional = True
    return built


def _source(module: str) -> Extension:
    return Extension(module, [module.replace(".", "/") + ".py"])


# Tests import COMPILED_MODULES from here; only a build runs setup().
if __name__ == "__main__":
    setup(ext_modules=compiled_extensions(), options={"build_ext": {"parallel": os.cpu_count() or 1}})
