"""What workers are woken for, one file per concern. A task names rows; what is to be done stands in them."""

from importlib import import_module
from pkgutil import iter_modules

for module in iter_modules(__path__):
    import_module(f"{__name__}.{module.name}")
