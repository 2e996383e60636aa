"""`python -m engine.admin COMMAND …`: finds the command, connects, shows what it gives.

Exit status: 0 done, 1 refused or unreachable (one line on stderr says why), 2 wrong use.
"""

from __future__ import annotations

import argparse
import asyncio
import inspect
import os
import sys

from engine.admin.commands import Command, registered
from engine.admin.credential_options import add_credential_options, chosen_credentials
from engine.admin.rendering import Renderer, printable
from engine.admin.tls_options import add_tls_options, chosen_tls
from engine.client.admin import Admin
from engine.client.instance.answers import code_name
from engine.errors import BadInput, EngineError, PeerError, Refused

DEFAULT_NAMESRV = "127.0.0.1:9876"


def main(arguments: list[str] | None = None) -> int:
    parser = build_parser()
    given = parser.parse_args(arguments)
    if given.command is None:
        parser.print_help()
        return 2
    chosen: Command = given.chosen
    if chosen.one_of and not any(getattr(given, name) not in (None, False) for name in chosen.one_of):
        given.subparser.error(f"one of {', '.join('--' + name for name in chosen.one_of)} is needed")
    try:
        asyncio.run(_run(chosen, given))
    except BadInput as error:
        return _fail(error.text, 2)
    except EngineError as error:
        return _fail(_explained(error), 1)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader of our pipe has seen enough (`… | head`).
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return 0


def build_parser() -> argparse.ArgumentParser:
    from engine.admin import catalogue  # noqa: F401  (registers the commands)

    parser = argparse.ArgumentParser(
        prog="engine.admin",
        description="Administers name servers and brokers: mqadmin's commands and options.",
        epilog="`engine.admin COMMAND -h` explains a command. NAMESRV_ADDR stands in for -n.",
    )
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND")
    for found in registered().values():
        _add_command(subparsers, found)
    return parser


def _add_command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser], found: Command) -> None:
    subparser = subparsers.add_parser(
        found.name,
        help=found.help,
        description=found.help,
        epilog=f"example: python -m engine.admin {found.example}",
    )
    subparser.add_argument(
        "-n",
        "--namesrvAddr",
        metavar="ADDRESS",
        default=os.environ.get("NAMESRV_ADDR", DEFAULT_NAMESRV),
        help=f"name servers, HOST:PORT;… (default $NAMESRV_ADDR or {DEFAULT_NAMESRV})",
    )
    subparser.add_argument("--json", action="store_true", help="print JSON for scripts")
    subparser.add_argument(
        "--timeout", metavar="MS", type=int, default=5000, help="patience with each server (5000)"
    )
    add_tls_options(subparser)
    add_credential_options(subparser)
    for option in found.options:
        option.add_to(subparser)
    subparser.set_defaults(chosen=found, subparser=subparser)


async def _run(chosen: Command, given: argparse.Namespace) -> None:
    renderer = Renderer(as_json=given.json)
    tls = chosen_tls(given, os.environ)
    who = chosen_credentials(given, os.environ)
    async with Admin(namesrv=given.namesrvAddr, timeout_ms=given.timeout, tls=tls, credentials=who) as admin:
        answer = chosen.run(admin, given)
        if inspect.isawaitable(answer):
            renderer.show(await answer)
            return
        async for result in answer:
            renderer.show(result)


def _explained(error: EngineError) -> str:
    """A refusal is told with its response code; a server that cannot be reached has none."""
    if isinstance(error, (Refused, PeerError)) and not error.text.startswith(code_name(error.code)):
        return f"{code_name(error.code)}: {error.text}"
    return error.text


def _fail(text: str, status: int) -> int:
    print(f"error: {printable(text)}", file=sys.stderr)
    return status
