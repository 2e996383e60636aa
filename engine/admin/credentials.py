"""Credentials and TLS: options that every command has, the environment, and files.

Credentials sign the requests. They are taken, in this order, from options (--unsigned, -ak and -sk,
--credentials FILE); SIGNALBOX_ACCESS_KEY and SIGNALBOX_SECRET_KEY; mqadmin's own
$ROCKETMQ_HOME/conf/tools.yml; a file for the cluster that is asked. A file is YAML with `accessKey` and
`secretKey`, as tools.yml is. Other users of the machine can read the arguments of a process, so -sk is for
experiments only, and the password of a TLS key comes from the environment.

A console's agent writes `administrator.yml` into the secrets folder of each cluster that takes changes from
administrators only; to work from another machine, copy it there into ~/.signalbox/credentials/. Such a file
is used only if its `nameServers` lists a name server that is about to be asked: signatures can be recorded
and replayed, so none is sent to a cluster that it does not belong to. Like ssh keys, a file that other users
can read is refused.
"""

from __future__ import annotations

import argparse
import getpass
import os
import stat
import sys
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import engine
from engine.errors import BadInput
from engine.net.tls import TlsOptions
from engine.protocol.signing import Credentials

ACCESS_KEY_VARIABLE = "SIGNALBOX_ACCESS_KEY"
SECRET_KEY_VARIABLE = "SIGNALBOX_SECRET_KEY"
PASSWORD_VARIABLE = "SIGNALBOX_PASSWORD"
_ORDER = f"""searched in this order: these options; ${ACCESS_KEY_VARIABLE} and ${SECRET_KEY_VARIABLE};
$ROCKETMQ_HOME/conf/tools.yml; the administrator's file of a cluster below $SIGNALBOX_DATA (default: data/
beside the engine); ~/.signalbox/credentials/*.yml. The last two are used only for the name servers that they
list"""


def add_credential_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("credentials", textwrap.fill(" ".join(_ORDER.split()), 76))
    group.add_argument("-ak", "--accessKey", metavar="NAME", help="user who signs the requests")
    group.add_argument("-sk", "--secretKey", metavar="SECRET", help="visible to all users of this machine")
    group.add_argument("--credentials", metavar="FILE", help="YAML with accessKey and secretKey")
    group.add_argument("--unsigned", action="store_true", help="sign nothing, whatever is found")


def chosen_credentials(given: argparse.Namespace, environment: Mapping[str, str]) -> Credentials | None:
    if given.unsigned:
        return None
    if given.accessKey and given.secretKey:
        return Credentials(given.accessKey, given.secretKey)
    if given.credentials:
        return _from_file(Path(given.credentials).expanduser())
    name = given.accessKey or environment.get(ACCESS_KEY_VARIABLE)
    secret = given.secretKey or environment.get(SECRET_KEY_VARIABLE)
    if name and secret:
        return Credentials(name, secret)
    if name or secret:
        present, missing = ("an access key", "secret key") if name else ("a secret key", "access key")
        raise BadInput(f"{present} was given without its {missing}")
    tools = Path(environment.get("ROCKETMQ_HOME", "")) / "conf" / "tools.yml"
    if environment.get("ROCKETMQ_HOME") and tools.exists():
        return _from_file(tools)
    found = find_credential_file(given.namesrvAddr, environment)
    return None if found is None else _from_file(found)


def _from_file(path: Path) -> Credentials:
    from yaml import YAMLError, safe_load

    try:
        content = safe_load(_text_of(path))
        return Credentials(str(content["accessKey"]), str(content["secretKey"]))
    except (YAMLError, KeyError, TypeError):
        raise BadInput(f"{path} is not YAML with accessKey and secretKey") from None


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise BadInput(f"{path} cannot be read: it is not UTF-8") from None


def chosen_password(given: argparse.Namespace, environment: Mapping[str, str]) -> str | None:
    """The password of a user that is created or changed."""
    if given.password:
        return str(given.password)
    if given.passwordFile:
        return _text_of(Path(given.passwordFile).expanduser()).rstrip("\r\n")
    return environment.get(PASSWORD_VARIABLE)


def asked_password(user: str) -> str:
    """Typed in on a terminal; refused elsewhere."""
    if not sys.stdin.isatty():
        raise BadInput(f"no password: give -p, --passwordFile or ${PASSWORD_VARIABLE}")
    return getpass.getpass(f"password of {user}: ")


DATA_VARIABLE = "SIGNALBOX_DATA"
_IN_DATA_ROOT = (
    "hosts/*/clusters/*/secrets/administrator.yml",
    # The data root of one host's agent.
    "clusters/*/secrets/administrator.yml",
)
_MAX_BYTES = 65_536


def find_credential_file(name_servers: str, environment: Mapping[str, str]) -> Path | None:
    """The newest file, in the first place that has one, for these name servers (`host:port;…`)."""
    wanted = _addresses(name_servers)
    for files in _places(environment):
        for path in sorted(files, key=_changed_at, reverse=True):
            if wanted & _addresses(str(_content(path).get("nameServers", ""))):
                _check_private(path)
                return path
    return None


def _places(environment: Mapping[str, str]) -> Iterator[list[Path]]:
    data = environment.get(DATA_VARIABLE)
    # Without the variable `make up` keeps its data beside the engine.
    root = Path(data) if data else Path(engine.__file__).resolve().parents[1] / "data"
    yield [path for pattern in _IN_DATA_ROOT for path in root.glob(pattern)]
    if home := environment.get("HOME"):
        yield list(Path(home, ".signalbox", "credentials").glob("*.yml"))


def _content(path: Path) -> dict[Any, Any]:
    """Empty for a file that cannot be read or parsed: it is skipped."""
    from yaml import YAMLError, safe_load

    try:
        with path.open("rb") as file:
            content = safe_load(file.read(_MAX_BYTES))
    except (OSError, YAMLError, UnicodeDecodeError):
        return {}
    return content if isinstance(content, dict) else {}


def _addresses(text: str) -> set[str]:
    parts = (part.strip().lower() for part in text.replace(",", ";").split(";"))
    return {part.replace("localhost:", "127.0.0.1:") for part in parts if part}


def _changed_at(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def _check_private(path: Path) -> None:
    status = path.stat()
    if status.st_uid not in (os.getuid(), 0) or stat.S_IMODE(status.st_mode) & 0o077:
        raise BadInput(f"other users can read or change {path}: chown it to yourself and chmod 600 it")


TLS_PASSWORD_VARIABLE = "SIGNALBOX_TLS_KEY_PASSWORD"
_TLS_NAMES = ("tls_ca", "tls_cert", "tls_key", "tls_server_name", "tls_insecure")


def add_tls_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("TLS", "each of these turns TLS on")
    group.add_argument("--tls", action="store_true", help="use TLS and trust the system's authorities")
    group.add_argument("--tls-ca", metavar="FILE", help="trust these authorities instead")
    group.add_argument("--tls-cert", metavar="FILE", help="client certificate, for servers that require one")
    group.add_argument("--tls-key", metavar="FILE", help=f"its key (password in ${TLS_PASSWORD_VARIABLE})")
    group.add_argument("--tls-server-name", metavar="NAME", help="host name expected in certificates")
    group.add_argument("--tls-insecure", action="store_true", help="do NOT verify servers")


def chosen_tls(given: argparse.Namespace, environment: Mapping[str, str]) -> TlsOptions | None:
    if not given.tls and not any(getattr(given, name) for name in _TLS_NAMES):
        return None
    return TlsOptions(
        ca_file=given.tls_ca,
        cert_file=given.tls_cert,
        key_file=given.tls_key,
        key_password=environment.get(TLS_PASSWORD_VARIABLE, ""),
        server_name=given.tls_server_name,
        verify=not given.tls_insecure,
    )
