"""RocketMQ's `tls.*` settings, for name server and broker alike: text in, checked values out.

They stand in broker.conf or namesrv.conf; those in the file that `tls.config.file` names win, as in RocketMQ,
and as there that file does not say `tls.server.mode` and `tls.enable`. Where RocketMQ's default trusts
everybody, ours does not, unless the operator says so (docs/tls.md lists the differences). Files of
certificates are not opened here, and passwords are shown nowhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TypeVar

from engine.errors import BadInput
from engine.net.tls import ClientAuth, ServerFiles, ServerTls, TlsMode, TlsOptions
from engine.protocol.bodies.config_text import parse_config

DEFAULT_FILE = "/etc/rocketmq/tls.properties"
_IN_CONF_ONLY = {"tls.server.mode": "permissive", "tls.enable": "", "tls.config.file": DEFAULT_FILE}
_DEFAULTS = _IN_CONF_ONLY | {
    "tls.test.mode.enable": "false",
    "tls.server.need.client.auth": "none",
    "tls.server.authClient": "",
    "tls.server.keyPath": "",
    "tls.server.keyPassword": "",
    "tls.server.certPath": "",
    "tls.server.trustCertPath": "",
    "tls.client.authServer": "",
    "tls.client.keyPath": "",
    "tls.client.keyPassword": "",
    "tls.client.certPath": "",
    "tls.client.trustCertPath": "",
}
_ALIASES = {"useTLS": "tls.enable"}
TLS_KEYS = frozenset(_DEFAULTS) | frozenset(_ALIASES)
_SECRET = frozenset({"tls.server.keyPassword", "tls.client.keyPassword"})

ReadFile = Callable[[str], str | None]
"""The text of a file, None when there is none."""

_E = TypeVar("_E", bound=Enum)


def _no_file(path: str) -> str | None:
    return None


@dataclass(frozen=True, slots=True)
class TlsSettings:
    mode: TlsMode = TlsMode.PERMISSIVE
    is_test: bool = False
    server: ServerFiles | None = None
    client: TlsOptions | None = None
    """How the daemon itself dials others; None: without TLS."""
    shown: tuple[tuple[str, str], ...] = tuple(
        sorted((key, value) for key, value in _DEFAULTS.items() if key not in _SECRET)
    )
    """Every setting but the passwords, as text."""
    warnings: tuple[str, ...] = ()

    def open_server(self) -> ServerTls:
        """Reads the certificate; BadInput when it cannot be used."""
        if self.server is None and self.is_test and self.mode is not TlsMode.DISABLED:
            from engine.daemon.throwaway_certificate import throwaway_context

            return ServerTls(self.mode, context=throwaway_context())
        return ServerTls(self.mode, self.server)


def read_tls(given: Mapping[str, str], read_file: ReadFile = _no_file) -> TlsSettings:
    """The settings of a daemon whose configuration holds `given`, among others."""
    conf = {_ALIASES.get(key, key): value.strip() for key, value in given.items() if key in TLS_KEYS}
    texts = _DEFAULTS | conf | _from_file(conf.get("tls.config.file"), read_file)
    mode = _choice("tls.server.mode", texts, TlsMode)
    is_test = _flag("tls.test.mode.enable", texts, False)
    warnings: list[str] = []
    return TlsSettings(
        mode=mode,
        is_test=is_test,
        server=_server(texts, is_test, warnings),
        client=_client(texts, mode, is_test, warnings),
        shown=tuple(sorted((key, value) for key, value in texts.items() if key not in _SECRET)),
        warnings=tuple(warnings),
    )


def _from_file(named: str | None, read_file: ReadFile) -> dict[str, str]:
    path = named or DEFAULT_FILE
    text = read_file(path)
    if text is None:
        if path != DEFAULT_FILE:
            raise BadInput(f"tls.config.file={path:.200}: there is no such file")
        return {}
    found = {key: value.strip() for key, value in parse_config(text).items() if key in TLS_KEYS}
    for key in found.keys() & (_IN_CONF_ONLY.keys() | _ALIASES.keys()):
        raise BadInput(f"{key} has no effect in {path:.200}: it belongs into the daemon's own configuration")
    return found


def _server(texts: Mapping[str, str], is_test: bool, warnings: list[str]) -> ServerFiles | None:
    cert, key = texts["tls.server.certPath"], texts["tls.server.keyPath"]
    asked = _choice("tls.server.need.client.auth", texts, ClientAuth)
    if bool(cert) != bool(key):
        raise BadInput("tls.server.certPath and tls.server.keyPath are only of use together")
    if not cert:
        if is_test:
            warnings.append("tls.test.mode.enable=true: a throw-away certificate is used, it proves nothing")
        return None
    if is_test:
        warnings.append("tls.test.mode.enable=true has no effect: tls.server.certPath is used")
    if asked is not ClientAuth.NONE and not _flag("tls.server.authClient", texts, True):
        warnings.append("tls.server.authClient=false: no client's certificate is asked for or checked")
        asked = ClientAuth.NONE
    password, trust = texts["tls.server.keyPassword"], texts["tls.server.trustCertPath"]
    return ServerFiles(cert, key, password, trust, asked)


def _client(texts: Mapping[str, str], mode: TlsMode, is_test: bool, warnings: list[str]) -> TlsOptions | None:
    if not _flag("tls.enable", texts, mode is TlsMode.ENFORCING):
        return None
    trust = texts["tls.client.trustCertPath"]
    verify = _flag("tls.client.authServer", texts, bool(trust) or not is_test)
    if not verify:
        warnings.append("tls.client.authServer=false: this process does not verify the servers that it dials")
    return TlsOptions(
        ca_file=trust or None,
        cert_file=texts["tls.client.certPath"] or None,
        key_file=texts["tls.client.keyPath"] or None,
        key_password=texts["tls.client.keyPassword"],
        verify=verify,
    )


def _flag(key: str, texts: Mapping[str, str], default: bool) -> bool:
    text = texts[key].lower()
    if text not in ("", "true", "false"):
        raise BadInput(f"{key}={texts[key]:.200} is not allowed: it must be true or false")
    return default if not text else text == "true"


def _choice(key: str, texts: Mapping[str, str], kind: type[_E]) -> _E:
    try:
        return kind(texts[key].lower())
    except ValueError:
        names = ", ".join(str(member.value) for member in kind)
        raise BadInput(f"{key}={texts[key]:.200} is not allowed: it must be one of {names}") from None


def read_tls_file(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"tls.config.file={path:.200} cannot be read: {error}") from None
