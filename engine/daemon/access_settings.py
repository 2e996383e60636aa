"""The settings of access control, for broker and name server alike: RocketMQ's keys, and three of our own.

`signalboxAccessControl=administration` is the state between off and on: changes need a signature, everything
else is open (docs/adr/0018). It stands for itself: beside it RocketMQ's switches must be off.

Text in, checked values out; no file is opened here. Secrets that stand in the text are in no repr, no printed
configuration and no error. What would look like protection and be none is refused: authorization without
authentication, a white list that lets anybody change users or, with `administration`, any white list, and a
provider class that we cannot run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from ipaddress import ip_address

import orjson

from engine.access.rules import USER_CODES
from engine.errors import BadInput
from engine.net.tls import TlsMode
from engine.protocol.signing import Credentials

_MASK = "******"
_DEFAULTS = {
    "aclEnable": "false",
    "authenticationEnabled": "false",
    "authorizationEnabled": "false",
    "authenticationWhitelist": "",
    "authorizationWhitelist": "",
    "initAuthenticationUser": "",
    "innerClientAuthenticationCredentials": "",
    "migrateAuthFromV1Enabled": "false",
    "rocketmqHome": "",
    "signalboxAccessControl": "",
    "signalboxSecretKeyFile": "",
    "signalboxUserFile": "",
}
_SECRET = frozenset({"initAuthenticationUser", "innerClientAuthenticationCredentials"})
_APACHE = "org.apache.rocketmq.auth."
_CLASSES = {
    "authenticationProvider": f"{_APACHE}authentication.provider.DefaultAuthenticationProvider",
    "authenticationMetadataProvider": f"{_APACHE}authentication.provider.LocalAuthenticationMetadataProvider",
    "authenticationStrategy": f"{_APACHE}authentication.strategy.StatelessAuthenticationStrategy",
    "authorizationProvider": f"{_APACHE}authorization.provider.DefaultAuthorizationProvider",
    "authorizationMetadataProvider": f"{_APACHE}authorization.provider.LocalAuthorizationMetadataProvider",
    "authorizationStrategy": f"{_APACHE}authorization.strategy.StatelessAuthorizationStrategy",
}
_STATEFUL = ("authenticationStrategy", "authorizationStrategy")
ACCESS_KEYS = frozenset(_DEFAULTS) | frozenset(_CLASSES)
DEFAULT_KEY_FILE = "~/.signalbox/secret.key"
STATE_KEY, ADMINISTRATION = "signalboxAccessControl", "administration"
_SWITCHES = ("aclEnable", "authenticationEnabled", "authorizationEnabled")
_WHITE_LISTS = ("authenticationWhitelist", "authorizationWhitelist")


class AccessMode(Enum):
    OFF = "off"
    ACL1 = "accounts of plain_acl.yml"
    ACL2 = "users and policies"
    ADMINISTRATION = "users and policies, for changes only"


@dataclass(frozen=True, slots=True)
class AccessSettings:
    mode: AccessMode = AccessMode.OFF
    authorizes: bool = False
    unsigned_codes: frozenset[int] = frozenset()
    unauthorized_codes: frozenset[int] = frozenset()
    first_user: Credentials | None = None
    cluster_credentials: Credentials | None = None
    """What this daemon signs its own requests with, and what proves a broker of the cluster."""
    migrates: bool = False
    home: str = ""
    key_file: str = DEFAULT_KEY_FILE
    user_file: str = ""
    shown: tuple[tuple[str, str], ...] = field(default=tuple(sorted(_DEFAULTS.items())), repr=False)
    """Every setting as text, secrets masked."""

    @property
    def is_on(self) -> bool:
        return self.mode is not AccessMode.OFF

    @property
    def has_users(self) -> bool:
        """Users and policies, as in ACL 2.0."""
        return self.mode in (AccessMode.ACL2, AccessMode.ADMINISTRATION)

    @property
    def guards_changes_only(self) -> bool:
        return self.mode is AccessMode.ADMINISTRATION


def read_access(given: Mapping[str, str]) -> AccessSettings:
    """The settings of a daemon whose configuration holds `given`, among others."""
    texts = _DEFAULTS | {key: value.strip() for key, value in given.items() if key in _DEFAULTS}
    _check_classes(given)
    mode = _mode(texts)
    shown = {key: _MASK if value and key in _SECRET else value for key, value in texts.items()}
    return AccessSettings(
        mode=mode,
        authorizes=mode in (AccessMode.ACL1, AccessMode.ADMINISTRATION)
        or _flag("authorizationEnabled", texts),
        unsigned_codes=_codes("authenticationWhitelist", texts),
        unauthorized_codes=_codes("authorizationWhitelist", texts),
        first_user=_credentials("initAuthenticationUser", texts, "username", "password"),
        cluster_credentials=_credentials(
            "innerClientAuthenticationCredentials", texts, "accessKey", "secretKey"
        ),
        migrates=_flag("migrateAuthFromV1Enabled", texts),
        home=texts["rocketmqHome"],
        key_file=texts["signalboxSecretKeyFile"] or DEFAULT_KEY_FILE,
        user_file=texts["signalboxUserFile"],
        shown=tuple(sorted(shown.items())),
    )


def _mode(texts: Mapping[str, str]) -> AccessMode:
    if _is_administration(texts):
        return AccessMode.ADMINISTRATION
    is_acl1, is_acl2 = _flag("aclEnable", texts), _flag("authenticationEnabled", texts)
    if is_acl1 and is_acl2:
        raise BadInput("aclEnable and authenticationEnabled are two ways to the same end: choose one")
    if _flag("authorizationEnabled", texts) and not is_acl2:
        raise BadInput(
            "authorizationEnabled=true needs authenticationEnabled=true: a name alone proves nothing"
        )
    return AccessMode.ACL1 if is_acl1 else AccessMode.ACL2 if is_acl2 else AccessMode.OFF


def _is_administration(texts: Mapping[str, str]) -> bool:
    state = texts[STATE_KEY]
    if not state:
        return False
    if state != ADMINISTRATION:
        raise BadInput(
            f"{STATE_KEY}={state:.200} is not allowed: it must be {ADMINISTRATION} or absent (off and on "
            "are authenticationEnabled and authorizationEnabled)"
        )
    for key in _SWITCHES:
        if _flag(key, texts):
            raise BadInput(
                f"{STATE_KEY}={ADMINISTRATION} and {key}=true contradict each other: the first leaves sends "
                "and reads open, the second does not. Choose one"
            )
    for key in _WHITE_LISTS:
        if texts[key]:
            raise BadInput(
                f"{STATE_KEY}={ADMINISTRATION} and {key} contradict each other: what changes nothing needs "
                "no signature anyway, and what changes something always does"
            )
    return True


def _flag(key: str, texts: Mapping[str, str]) -> bool:
    text = texts[key].lower()
    if text not in ("true", "false"):
        raise BadInput(f"{key}={texts[key]:.200} is not allowed: it must be true or false")
    return text == "true"


def _codes(key: str, texts: Mapping[str, str]) -> frozenset[int]:
    parts = [part.strip() for part in texts[key].split(",") if part.strip()]
    if not all(part.isdigit() and len(part) < 10 for part in parts):
        raise BadInput(
            f"{key}={texts[key]:.200} is not allowed: it must be request codes separated by commas"
        )
    codes = frozenset(map(int, parts))
    if codes & USER_CODES:
        named = ", ".join(map(str, sorted(codes & USER_CODES)))
        raise BadInput(f"{key} must not hold {named}: whoever may change users may become anybody")
    return codes


def _credentials(key: str, texts: Mapping[str, str], name: str, secret: str) -> Credentials | None:
    """`{"accessKey":"…","secretKey":"…"}`; the error does not repeat it."""
    if not texts[key]:
        return None
    try:
        value = orjson.loads(texts[key])
        found = (value[name], value[secret], value.get("securityToken"))
    except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError):
        found = None
    if found is None or not all(isinstance(part, str) and part for part in found[:2]):
        raise BadInput(f'{key} must be like {{"{name}":"…","{secret}":"…"}}')
    return Credentials(*found)


def _check_classes(given: Mapping[str, str]) -> None:
    for key, default in _CLASSES.items():
        allowed = {"", default}
        if key in _STATEFUL:
            # It keeps decisions per connection; ours are kept per user, until users change.
            allowed.add(default.replace("Stateless", "Stateful"))
        if given.get(key, "").strip() not in allowed:
            raise BadInput(f"{key}={given[key]:.200} is not allowed: only RocketMQ's own {default}")


def exposure(access: AccessSettings, tls: TlsMode, host: str) -> list[str]:
    """Signatures do not age: who can listen can repeat them. Allowed, because RocketMQ's users do it."""
    if not access.is_on or tls is TlsMode.ENFORCING or _is_loopback(host):
        return []
    return [
        f"access control is on and {host or 'every address'} can be reached without TLS: a request that is "
        "recorded can be sent again (tls.server.mode=enforcing)"
    ]


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
