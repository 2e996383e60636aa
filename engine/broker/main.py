"""`python -m engine.broker -c broker.conf [-n HOST:PORT] [--strict] [-p]`: reads options and starts."""

from __future__ import annotations

import argparse
import logging
import os
import re
import socket
from pathlib import Path

from engine.broker.process.broker import Broker
from engine.broker.process.ports import choose_addresses
from engine.broker.settings.options import BrokerOptions, load_options, options_text
from engine.daemon.access_settings import exposure
from engine.daemon.logs import start_logging
from engine.daemon.running import run_daemon
from engine.daemon.tls_settings import read_tls_file
from engine.errors import BadInput

log = logging.getLogger(__name__)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="engine.broker", description="Signalbox broker.")
    parser.add_argument("-c", "--config", metavar="FILE", help="broker.conf with RocketMQ's property names")
    parser.add_argument("-n", "--namesrv", metavar="HOST:PORT", help="name servers, separated by ;")
    parser.add_argument(
        "--strict",
        action="store_true",
        help="refuse to start when files or messages of the store are missing or damaged",
    )
    parser.add_argument("-p", "--print-config", action="store_true", help="print all options and exit")
    given = parser.parse_args(arguments)
    try:
        options = read_options(given.config, given.namesrv, is_strict=given.strict)
    except BadInput as error:
        parser.error(error.text)
    if given.print_config:
        print(options_text(options), end="")
        return 0
    try:
        start_logging(log_directory(options), "broker", options.live.log_level)
    except BadInput as error:
        parser.error(error.text)
    for warning in options.warnings:
        log.warning("%s", warning)
    host = choose_addresses(options.bind_address, options.broker_ip1).bind_host
    for warning in exposure(options.access, options.tls.mode, host):
        log.warning("%s", warning)
    if not options.namesrv_addr:
        log.warning("neither namesrvAddr, -n nor NAMESRV_ADDR is set: no client will find this broker")
    return run_daemon(lambda: Broker(options))


def read_options(config: str | None, name_servers: str | None, *, is_strict: bool = False) -> BrokerOptions:
    text = ""
    if config is not None:
        try:
            text = Path(config).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise BadInput(f"{config} cannot be read: {error}") from None
    overrides = {} if name_servers is None else {"namesrvAddr": name_servers}
    if is_strict:
        overrides["signalboxStrictStart"] = "true"
    defaults = {"brokerName": _default_name(), "namesrvAddr": os.environ.get("NAMESRV_ADDR", "")}
    return load_options(text, overrides, defaults, read_tls_file)


def _default_name() -> str:
    """The host's name, as RocketMQ does, in characters that a name may have."""
    return re.sub(r"[^a-zA-Z0-9_-]", "-", socket.gethostname())[:100] or "DEFAULT_BROKER"


def log_directory(options: BrokerOptions) -> Path:
    if options.log_dir:
        return Path(options.log_dir).expanduser()
    # A folder per broker: two on one machine must not write, and rotate, the same file.
    beside_the_store = Path(options.store_path_root_dir).expanduser().parent
    return beside_the_store / "logs" / f"{options.broker_name}_{options.broker_id}"
