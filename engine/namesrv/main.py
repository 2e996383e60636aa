"""`python -m engine.namesrv --listen HOST:PORT [-c namesrv.conf]`: reads options, runs until a signal."""

from __future__ import annotations

import argparse
import logging
from dataclasses import replace
from pathlib import Path

from engine.daemon.access_settings import ACCESS_KEYS, exposure, read_access
from engine.daemon.logs import start_logging
from engine.daemon.running import run_daemon
from engine.daemon.tls_settings import TLS_KEYS, read_tls, read_tls_file
from engine.errors import BadInput, EngineError
from engine.namesrv.namesrv import Namesrv
from engine.namesrv.options import NamesrvOptions, apply_properties, as_properties
from engine.protocol.bodies.config_text import format_config, parse_config

log = logging.getLogger(__name__)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="engine.namesrv", description="Signalbox name server.")
    parser.add_argument("--listen", metavar="HOST:PORT", help="where to listen (default 127.0.0.1:9876)")
    parser.add_argument("-c", "--config", metavar="FILE", help="namesrv.conf with RocketMQ's property names")
    parser.add_argument("-p", "--print-config", action="store_true", help="print all options and exit")
    given = parser.parse_args(arguments)
    try:
        options, unknown = load_options(given.config, given.listen)
    except EngineError as error:
        parser.error(error.text)
    if given.print_config:
        print(format_config(as_properties(options)), end="")
        return 0
    try:
        start_logging(log_directory(options), "namesrv", options.log_level)
    except BadInput as error:
        parser.error(error.text)
    for key in unknown:
        log.warning("unknown option %s in %s is ignored", key, given.config)
    for warning in (*options.tls.warnings, *exposure(options.access, options.tls.mode, options.listen_host)):
        log.warning("%s", warning)
    return run_daemon(lambda: Namesrv(options))


def log_directory(options: NamesrvOptions) -> Path:
    if options.log_dir:
        return Path(options.log_dir).expanduser()
    return Path(options.kv_config_path).expanduser().parent / "logs"


def load_options(config: str | None, listen: str | None) -> tuple[NamesrvOptions, list[str]]:
    properties: dict[str, str] = {}
    if config is not None:
        try:
            properties = parse_config(Path(config).read_text())
        except (OSError, UnicodeDecodeError) as error:
            raise BadInput(f"{config} cannot be read: {error}") from None
    options, unknown = apply_properties(NamesrvOptions(), properties)
    options = replace(options, tls=read_tls(properties, read_tls_file), access=read_access(properties))
    if listen is not None:
        host, separator, port = listen.rpartition(":")
        if not separator or not host or not port.isdigit() or int(port) > 65535:
            raise BadInput(f"--listen {listen!r}: HOST:PORT expected")
        options = replace(options, listen_host=host.strip("[]"), listen_port=int(port))
    return options, [key for key in unknown if key not in TLS_KEYS | ACCESS_KEYS]
