"""Our own name server and broker as an operator starts them: two processes, RocketMQ's configuration file."""

from __future__ import annotations

import sys
from pathlib import Path

from .processes import Server

REPOSITORY = Path(__file__).resolve().parents[2]


def name_server_command(address: str, home: Path) -> list[str]:
    """All of its files are in `home`; without a configuration they are in the home of whoever starts it."""
    config = home / "namesrv.conf"
    config.write_text(f"kvConfigPath={home / 'kvConfig.json'}\n")
    return [sys.executable, "-m", "engine.namesrv", "--listen", address, "-c", str(config)]


def launch_name_server(address: str, home: Path) -> Server:
    return Server(name_server_command(address, home), home / "namesrv-signalbox.log", cwd=REPOSITORY)


def launch_broker(config: Path, name_server: str, home: Path) -> Server:
    command = [sys.executable, "-m", "engine.broker", "-c", str(config), "-n", name_server]
    return Server(command, home / "broker-signalbox.log", cwd=REPOSITORY)
