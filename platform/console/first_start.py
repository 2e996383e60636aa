"""What must be there before Django's settings can be read: the data root and the console's key.

Whatever a command of manage.py writes is for its owner alone. Folders and a key are made for `up` and
`agent`, which may be the first things that run on a machine. Nothing here imports Django.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from console.data_root import data_root
from console.keys import make_key_file
from console.private_files import keep_files_private, make_private

COMMANDS = ("up", "down", "agent")


def prepare(arguments: Sequence[str]) -> None:
    """`arguments` are manage.py's. `--data` counts like SIGNALBOX_DATA."""
    keep_files_private()
    if not arguments or arguments[0] not in COMMANDS or "--help" in arguments:
        _stand_in(arguments)
        return
    given = _option(arguments, "--data")
    if given is not None:
        os.environ["SIGNALBOX_DATA"] = given
    root = data_root()
    root.prepare()
    make_private(root.path)
    if not os.environ.get("SIGNALBOX_CONSOLE_KEY"):
        make_key_file(root.key_file)


def _stand_in(arguments: Sequence[str]) -> None:
    """Asking a command for its options makes no files."""
    if arguments and arguments[0] in COMMANDS:
        os.environ.setdefault("SIGNALBOX_CONSOLE_KEY", "only-to-show-the-options-of-a-command")


def _option(arguments: Sequence[str], name: str) -> str | None:
    for number, argument in enumerate(arguments):
        if argument == name and number + 1 < len(arguments):
            return arguments[number + 1]
        if argument.startswith(f"{name}="):
            return argument.partition("=")[2]
    return None
