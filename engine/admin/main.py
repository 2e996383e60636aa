"""`python -m engine.admin COMMAND …`: finds the command, connects, prints what it returns.

Every failure is one line on stderr and an `ExitCode`; docs/admin.md has the same table of codes.
"""

from __future__ import annotations

import argparse
import asyncio
import difflib
import inspect
import os
import sys
from enum import IntEnum
from typing import NoReturn

from engine.admin import (  # noqa: F401  (importing them registers their commands)
    access,
    broker_groups,
    brokers,
    connections,
    groups,
    message_reads,
    messages,
    name_servers,
    offsets,
    topics,
    traces,
)
from engine.admin.arguments import count
from engine.admin.commands import Command, registered
from engine.admin.credentials import add_credential_options, add_tls_options, chosen_credentials, chosen_tls
from engine.admin.result_printer import ResultPrinter, printable
from engine.client import Admin
from engine.client.instance.answers import code_name
from engine.errors import BadInput, EngineError, PeerError, Refused


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
DEFAULT_NAMESRV = "127.0.0.1:9876"
_EXIT_STATUS = "exit status:\n" + "".join(f"  {code:<4} {text}\n" for code, text in MEANINGS.items())


def main(arguments: list[str] | None = None) -> int:
    try:
        return _run(sys.argv[1:] if arguments is None else arguments)
    except EngineError as error:
        print(f"error: {printable(_explained(error))}", file=sys.stderr)
        return ExitCode.USAGE if isinstance(error, BadInput) else ExitCode.FAILED
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        # The reader of our pipe has read enough (`… | head`).
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.DONE


def _run(words: list[str]) -> ExitCode:
    _check_words(words)
    parser = build_parser(words[0] if words else None)
    given, unknown = parser.parse_known_args(words)
    if unknown:
        getattr(given, "subparser", parser).error(f"unrecognized arguments: {' '.join(unknown)}")
    if given.command is None:
        parser.print_help()
        return ExitCode.USAGE
    chosen: Command = given.chosen
    if problem := chosen.wrong_use(given):
        given.subparser.error(problem)
    asyncio.run(_run_command(chosen, given))
    return ExitCode.DONE


def _check_words(words: list[str]) -> None:
    for word in words:
        if not word.isascii() and word != word.encode(errors="replace").decode():
            raise BadInput(f"the argument {word!r} is not UTF-8")
    if words and not words[0].startswith("-") and words[0] not in registered():
        similar = difflib.get_close_matches(words[0], registered(), 1)
        hint = f"did you mean {similar[0]}?" if similar else "engine.admin -h lists the commands"
        raise BadInput(f"there is no command {words[0]!r}: {hint}")


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """One line like any other failure, instead of twenty lines of usage."""
        raise BadInput(f"{message} (see {self.prog} -h)")


def build_parser(name: str | None = None) -> argparse.ArgumentParser:
    """With the name of a command, for that one only: all of them take 25 ms."""
    parser = _Parser(
        prog="engine.admin",
        description="Administers name servers and brokers: mqadmin's commands and options.",
        epilog=f"`engine.admin COMMAND -h` explains a command. Without -n: $NAMESRV_ADDR.\n\n{_EXIT_STATUS}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND")
    commands = registered()
    for found in [commands[name]] if name in commands else commands.values():
        subparser = subparsers.add_parser(
            found.name,
            help=found.help,
            description=found.help,
            epilog=f"example:\n  python -m engine.admin {found.example}\n\n{_EXIT_STATUS}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        _add_common_options(subparser)
        for option in found.options:
            option.add_to(subparser)
        subparser.set_defaults(chosen=found, subparser=subparser)
    return parser


def _add_common_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-n",
        "--namesrvAddr",
        metavar="ADDRESS",
        default=os.environ.get("NAMESRV_ADDR") or DEFAULT_NAMESRV,
        help=f"name servers, HOST:PORT;… (default $NAMESRV_ADDR or {DEFAULT_NAMESRV})",
    )
    parser.add_argument("--json", action="store_true", help="print JSON for scripts")
    parser.add_argument(
        "--timeout", metavar="MS", type=count, default=5000, help="longest wait for each answer (5000)"
    )
    add_tls_options(parser)
    add_credential_options(parser)


async def _run_command(chosen: Command, given: argparse.Namespace) -> None:
    if not given.namesrvAddr.strip(" ;,"):
        raise BadInput("--namesrvAddr is empty: HOST:PORT expected")
    printer = ResultPrinter(as_json=given.json)
    tls = chosen_tls(given, os.environ)
    credentials = chosen_credentials(given, os.environ)
    async with Admin(
        namesrv=given.namesrvAddr, timeout_ms=given.timeout, tls=tls, credentials=credentials
    ) as admin:
        answer = chosen.run(admin, given)
        if inspect.isawaitable(answer):
            printer.print(await answer)
            return
        async for result in answer:
            printer.print(result)


def _explained(error: EngineError) -> str:
    """A refusal has a response code; a server that cannot be reached has none."""
    if isinstance(error, (Refused, PeerError)) and not error.text.startswith(code_name(error.code)):
        return f"{code_name(error.code)}: {error.text}"
    return error.text
