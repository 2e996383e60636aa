"""The modules of commands: importing them registers every command, which `registered` then lists."""

import engine.admin.access  # noqa: F401
from engine.admin.commands import registered

__all__ = ["registered"]
