"""Credentials that requests are signed with: options that every command has, the environment, or a file.

In this order: options (--unsigned, -ak and -sk, --credentials FILE); SIGNALBOX_ACCESS_KEY and
SIGNALBOX_SECRET_KEY; mqadmin's own $ROCKETMQ_HOME/conf/tools.yml; a file for the cluster that is asked
(`credential_files`). A file is YAML with `accessKey` and `secretKey`, as tools.yml is. Other users of the
machine can read the arguments of a process, so -sk is for experiments only.
"""

from __future__ import annotations

import argparse
import getpass
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path

from engine.admin.credential_files import find_credential_file
from engine.errors import BadInput
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
