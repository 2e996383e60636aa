"""The real Apache RocketMQ name server and broker, started from Maven Central's jars.

Their home is a temporary directory: logging goes nowhere but the server's own log file, and nothing is
written to the user's home.
"""

from __future__ import annotations

import os
from pathlib import Path

from .jars import class_path
from .processes import JVM_FLAGS, Server

NAME_SERVER_CLASS = "org.apache.rocketmq.namesrv.NamesrvStartup"
BROKER_CLASS = "org.apache.rocketmq.broker.BrokerStartup"

# 4.9 refuses to start without these files; 5.x is told of one by a system property.
_LOGGING_FILES = ("logback_namesrv.xml", "logback_broker.xml", "logback_tools.xml")
_QUIET = '<configuration><root level="OFF"/></configuration>\n'


def prepare_home(home: Path) -> dict[str, str]:
    """Makes ``home`` a ROCKETMQ_HOME and returns the environment that says so."""
    conf_dir = home / "conf"
    conf_dir.mkdir(parents=True, exist_ok=True)
    for name in _LOGGING_FILES:
        (conf_dir / name).write_text(_QUIET)
    return {**os.environ, "ROCKETMQ_HOME": str(home)}


def java_command(project: str, main_class: str, home: Path) -> list[str]:
    quiet = home / "conf" / _LOGGING_FILES[0]
    properties = [f"-Duser.home={home}", f"-Drmq.logback.configurationFile={quiet}"]
    return ["java", *JVM_FLAGS, *properties, "-cp", class_path(project), main_class]


def launch_name_server(version: str, port: int, home: Path) -> Server:
    config = home / "namesrv.conf"
    config.write_text(f"listenPort={port}\nkvConfigPath={home / 'kvConfig.json'}\n")
    command = [*java_command(f"server-{version}", NAME_SERVER_CLASS, home), "-c", str(config)]
    return Server(command, home / f"namesrv-apache-{version}.log", prepare_home(home))


def launch_broker(version: str, config: Path, name_server: str, home: Path) -> Server:
    command = [*java_command(f"server-{version}", BROKER_CLASS, home), "-c", str(config), "-n", name_server]
    return Server(command, home / f"broker-apache-{version}.log", prepare_home(home))
