"""What workers are woken for: runs of their host, files of it, searches by Spark. A task names rows."""

from importlib import import_module
from pkgutil import iter_modules

for module in iter_modules(__path__):
    import_module(f"{__name__}.{module.name}")
