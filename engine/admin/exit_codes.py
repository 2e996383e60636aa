"""The exit codes of the command line, and which error gives which. docs/admin.md has the same table."""

from __future__ import annotations

from enum import IntEnum

from engine.errors import BadInput, EngineError


class ExitCode(IntEnum):
    DONE = 0
    FAILED = 1
    USAGE = 2
    INTERRUPTED = 130


MEANINGS = {
    ExitCode.DONE: "done",
    ExitCode.FAILED: "refused, not found, or a server cannot be reached",
    ExitCode.USAGE: "wrong arguments, or a file that they name cannot be used",
    ExitCode.INTERRUPTED: "interrupted by Ctrl-C",
}


def exit_code_of(error: EngineError) -> ExitCode:
    return ExitCode.USAGE if isinstance(error, BadInput) else ExitCode.FAILED
