"""broker.conf and namesrv.conf from rows. Pure: the same rows give the same text, and no secret is in it.

Secrets stand in a second text that the agent adds on the host (`secret_lines`). The digest is that of the
open part: whether a running process has the settings that its rows ask for can be said without a secret.

A member's brokerId and its first role never change: after a promotion config/signalboxGroup.json of its store
says who is master, and wins over broker.conf. So `brokerRole` is that of the first start (member 0 founds the
group), and a restart of any member follows the group (driver.py refuses a founder whose store is gone).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from clusters.provisioning.ports import METRICS_DISTANCE

PERMISSION_READ, PERMISSION_ALL = "4", "6"
OFF, ADMINISTRATION, ON = "off", "administration", "on"
STATE_KEY = "signalboxAccessControl"


@dataclass(frozen=True, slots=True)
class NameServerConf:
    host: str
    port: int
    folder: PurePosixPath
    access_control: str
    """off, administration or on"""


@dataclass(frozen=True, slots=True)
class BrokerConf:
    cluster: str
    group: str
    member: int
    profile: str
    overrides: Mapping[str, str]
    host: str
    port: int
    folder: PurePosixPath
    """Of the process, on its host."""
    secrets: PurePosixPath
    """The folder of the cluster's secrets, on the host."""
    name_servers: Sequence[str]
    access_control: str
    """off, administration or on"""


def name_server_settings(conf: NameServerConf) -> dict[str, str]:
    settings = {
        "bindAddress": conf.host,
        "listenPort": str(conf.port),
        "kvConfigPath": str(conf.folder / "kvConfig.json"),
        "logDir": str(conf.folder / "logs"),
    }
    if conf.access_control == ADMINISTRATION:
        settings |= {STATE_KEY: ADMINISTRATION, "signalboxUserFile": str(conf.folder / "users.yml")}
    elif conf.access_control == ON:
        settings |= {
            "authenticationEnabled": "true",
            "authorizationEnabled": "true",
            # Clients look routes up without an account; registering and changing takes one.
            "authenticationWhitelist": "105,106",
            "authorizationWhitelist": "105,106",
            "signalboxUserFile": str(conf.folder / "users.yml"),
        }
    return settings


def broker_settings(conf: BrokerConf) -> dict[str, str]:
    settings = {
        "brokerClusterName": conf.cluster,
        "brokerName": conf.group,
        "brokerId": str(conf.member),
        "bindAddress": conf.host,
        "brokerIP1": conf.host,
        "listenPort": str(conf.port),
        "namesrvAddr": ";".join(conf.name_servers),
        "storePathRootDir": str(conf.folder / "store"),
        "logDir": str(conf.folder / "logs"),
        "metricsExporterType": "PROM",
        "metricsPromExporterPort": str(conf.port - METRICS_DISTANCE),
        "signalboxClusterSecretFile": str(conf.secrets / "cluster.secret"),
    }
    if conf.profile != "none":
        settings["signalboxProfile"] = conf.profile
    if conf.member > 0:
        settings["brokerRole"] = "SLAVE"
    settings |= _access(conf)
    # What a request may say comes first, so that it can never win over what identifies the broker.
    return {**conf.overrides, **settings}


def _access(conf: BrokerConf) -> dict[str, str]:
    # The profile `safe` has it on: what the cluster's row says is what counts.
    is_on = "true" if conf.access_control == ON else "false"
    settings = {"authenticationEnabled": is_on, "authorizationEnabled": is_on}
    if conf.access_control == ADMINISTRATION:
        settings[STATE_KEY] = ADMINISTRATION
    if conf.access_control != OFF:
        settings["signalboxSecretKeyFile"] = str(conf.secrets / "access.key")
    return settings


def access_read_back(access_control: str) -> dict[str, str]:
    """What a broker in this state says of itself."""
    return {
        STATE_KEY: ADMINISTRATION if access_control == ADMINISTRATION else "",
        "authenticationEnabled": "true" if access_control == ON else "false",
    }


def secret_lines(bundle: Mapping[str, str], *, is_broker: bool) -> dict[str, str]:
    """What is added on the host, from the bundle that was sealed for it."""
    if "inner_secret" not in bundle:
        return {}
    inner = {"accessKey": bundle["inner_key"], "secretKey": bundle["inner_secret"]}
    lines = {"innerClientAuthenticationCredentials": json.dumps(inner, separators=(",", ":"))}
    if is_broker:
        user = {"username": bundle["access_key"], "password": bundle["secret_key"]}
        lines["initAuthenticationUser"] = json.dumps(user, separators=(",", ":"))
    return lines


def text_of(settings: Mapping[str, str]) -> str:
    lines = [f"{key}={value}\n" for key, value in settings.items()]
    return "# Written by the console from what was asked for; changes belong there.\n" + "".join(lines)


def digest(settings: Mapping[str, str], release: str) -> str:
    text = json.dumps([sorted(settings.items()), release], separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
