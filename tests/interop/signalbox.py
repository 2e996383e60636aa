"""Our own name server and broker as an operator starts them: two processes, RocketMQ's configuration file."""

from __future__ import annotations

import sys
from pathlib import Path

from .processes import Server

REPOSITORY = Path(__file__).resolve().parents[2]


def launch_name_server(address: str, home: Path) -> Server:
    config = home / "namesrv.conf"
    config.write_text(f"kvConfigPath={home / 'kvConfig.json'}\n")
    command = [sys.executable, "-m", "engine.namesrv", "--listen", address, "-c", str(config)]
    return Server(command, home / "namesrv-signalbox.log", cwd=REPOSITORY)


def launch_broker(config: Path, name_server: str, home: Path) -> Server:
    command = [sys.executable, "-m", "engine.broker", "-c", str(config), "-n", name_server]
    return Server(command, home / "broker-signalbox.log", cwd=REPOSITORY)
