"""ACL 1.0 as text: `plain_acl.yml` and its accounts, turned into users and policies of the one model.

    globalWhiteRemoteAddresses: [pattern, …]
    accounts:
      - accessKey, secretKey (each longer than 6), whiteRemoteAddress, admin,
        defaultTopicPerm, defaultGroupPerm (DENY, PUB, SUB, PUB|SUB, ANY),
        topicPerms, groupPerms (lists of name=PERM)
    dataVersion: [{counter, timestamp, stateVersion}]

An account without admin may also read about the broker. `PUB` and `SUB` bring `Get` with them, because in ACL
1.0 everybody may ask for offsets. The text keeps its secrets in the clear: it is the operator's, and
RocketMQ's, file. An address pattern is one address, `192.168.0.*`, `10.1.10-20.*`, `192.168.0.{1,2}`, `a,b`
or `*`; IPv6 has the pattern at its end (`2001:db8::7:1-ff:*`). What is no pattern is BadInput: a list that is
silently empty, or silently everybody, is worse than a start that fails. Pure: text in, values out; errors
name the place and never show a secret.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from ipaddress import IPv6Address, ip_address
from typing import Any

from engine.access.accounts import Account
from engine.access.policies import Acl, PolicyEntry
from engine.access.resources import Action, Decision, Kind, Resource
from engine.errors import BadInput
from engine.protocol.bodies.auth import PlainAccessConfig
from engine.protocol.bodies.basics import DataVersion
from engine.protocol.names import RETRY_PREFIX, TRACE_TOPIC

Matches = Callable[[str], bool]
_EVERYBODY = ("*", "*.*.*.*", "*:*:*:*:*:*:*:*")
_Range = tuple[int, int]


@lru_cache(maxsize=4096)
def address_pattern(text: str) -> Matches:
    """Whether an address is meant; an empty pattern means none."""
    text = text.strip()
    if not text:
        return lambda ip: False
    if text in _EVERYBODY:
        return lambda ip: True
    if text.endswith("}"):
        return _one_of(_braced(text), text)
    if "," in text:
        return _one_of(text.split(","), text)
    if "*" in text or "-" in text:
        return _ranges(text)
    return _one_of([text], text)


def _one_of(addresses: list[str], text: str) -> Matches:
    try:
        wanted = {ip_address(address.strip()) for address in addresses}
    except ValueError:
        raise _bad(text) from None

    def matches(ip: str) -> bool:
        try:
            return ip_address(ip) in wanted
        except ValueError:
            return False

    return matches


def _braced(text: str) -> list[str]:
    head, opened, last = text[:-1].partition("{")
    if not opened or head[-1:] not in (".", ":"):
        raise _bad(text)
    return [head + part.strip() for part in last.split(",")]


def _ranges(text: str) -> Matches:
    is_v6 = ":" in text
    ranges = _v6_ranges(text) if is_v6 else [_range(part, text, 10, 255) for part in text.split(".")]
    if not is_v6 and len(ranges) != 4:
        raise _bad(text)

    def matches(ip: str) -> bool:
        parts = _parts(ip, is_v6)
        return parts is not None and all(
            low <= part <= high for part, (low, high) in zip(parts, ranges, strict=True)
        )

    return matches


def _v6_ranges(text: str) -> list[_Range]:
    parts = text.split(":")
    tail: list[str] = []
    while parts and ("*" in parts[-1] or "-" in parts[-1]):
        tail.insert(0, parts.pop())
    if any("*" in part or "-" in part for part in parts) or len(tail) > 8:
        raise _bad(text)
    head = ":".join(parts)
    missing = ":".join("0" for _ in tail)
    try:
        # The head is expanded to what the pattern leaves of eight parts.
        whole = IPv6Address(f"{head}:{missing}" if head else missing)
    except ValueError:
        raise _bad(text) from None
    known = _parts(str(whole), True) or []
    fixed = [(part, part) for part in known[: 8 - len(tail)]]
    return fixed + [_range(part, text, 16, 0xFFFF) for part in tail]


def _range(part: str, text: str, base: int, highest: int) -> _Range:
    part = part.strip()
    if part == "*":
        return 0, highest
    low, dash, high = part.partition("-")
    try:
        first = int(low, base)
        last = int(high, base) if dash else first
    except ValueError:
        raise _bad(text) from None
    if not 0 <= first <= last <= highest:
        raise _bad(text)
    return first, last


def _parts(ip: str, is_v6: bool) -> list[int] | None:
    try:
        address = ip_address(ip)
    except ValueError:
        return None
    if (address.version == 6) is not is_v6:
        return None
    packed = address.packed
    return [int.from_bytes(packed[at : at + 2]) for at in range(0, 16, 2)] if is_v6 else list(packed)


def _bad(text: str) -> BadInput:
    return BadInput(f"{text!r:.120} is no address pattern")


MIN_LENGTH = 6
_BOTH = frozenset({Action.PUB, Action.SUB, Action.GET})
_PERMISSIONS: dict[str, frozenset[Action]] = {
    "DENY": frozenset(),
    "PUB": frozenset({Action.PUB, Action.GET}),
    "SUB": frozenset({Action.SUB, Action.GET}),
    "PUB|SUB": _BOTH,
    "SUB|PUB": _BOTH,
    "ANY": _BOTH,
}


@dataclass(frozen=True, slots=True)
class PlainAcl:
    """One file of ACL 1.0."""

    white_addresses: tuple[str, ...] = ()
    accounts: tuple[PlainAccessConfig, ...] = ()
    version: DataVersion = field(default_factory=DataVersion)


def parse_plain_acl(text: str) -> PlainAcl:
    # Imported when wanted: only brokers with ACL 1.0 pay for it.
    from yaml import YAMLError, safe_load

    try:
        content = safe_load(text)
    except YAMLError:
        # Its message would quote the line, and the line may be a secret.
        raise BadInput("it is not YAML") from None
    if content is None:
        return PlainAcl()
    if not isinstance(content, dict):
        raise BadInput("it is not a YAML mapping")
    whites = _texts(content.get("globalWhiteRemoteAddresses"), "globalWhiteRemoteAddresses")
    for pattern in whites:
        address_pattern(pattern)
    accounts = tuple(map(_account, _items(content.get("accounts"), "accounts")))
    return PlainAcl(whites, accounts, _version(content.get("dataVersion")))


def _account(item: Any) -> PlainAccessConfig:
    if not isinstance(item, dict):
        raise BadInput("an account is not a mapping")
    account = PlainAccessConfig(
        access_key=_text(item.get("accessKey")),
        secret_key=_text(item.get("secretKey")),
        white_remote_address=_text(item.get("whiteRemoteAddress")) or None,
        admin=str(item.get("admin", False)).lower() == "true",
        default_topic_perm=_text(item.get("defaultTopicPerm")) or None,
        default_group_perm=_text(item.get("defaultGroupPerm")) or None,
        topic_perms=_texts(item.get("topicPerms"), "topicPerms"),
        group_perms=_texts(item.get("groupPerms"), "groupPerms"),
    )
    check_plain_account(account)
    return account


def check_plain_account(account: PlainAccessConfig) -> None:
    name = f"the account {account.access_key!r:.80}"
    if len(account.access_key) <= MIN_LENGTH or len(account.secret_key or "") <= MIN_LENGTH:
        raise BadInput(f"{name}: accessKey and secretKey must be longer than {MIN_LENGTH} characters")
    try:
        address_pattern(account.white_remote_address or "")
        _entries(account)
    except BadInput as error:
        raise BadInput(f"{name}: {error.text}") from None


def _items(value: Any, name: str) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise BadInput(f"{name} is not a list")
    return value


def _texts(value: Any, name: str) -> tuple[str, ...]:
    return tuple(_text(item) for item in _items(value, name))


def _text(value: Any) -> str:
    return "" if value is None else str(value).strip()


def _version(value: Any) -> DataVersion:
    first = value[0] if isinstance(value, list) and value else {}
    numbers = first if isinstance(first, dict) else {}
    read = {key: numbers.get(key, 0) for key in ("counter", "timestamp", "stateVersion")}
    if not all(type(number) is int for number in read.values()):
        raise BadInput("dataVersion holds something other than numbers")
    return DataVersion.from_json(read)


# -- as users of the one model ------------------------------------------------------------------------------


def account_of(plain: PlainAccessConfig) -> Account:
    custom, default = _entries(plain)
    return Account(
        plain.access_key,
        (plain.secret_key or "").encode(),
        is_super=plain.admin,
        acl=Acl(custom, default),
        white_addresses=plain.white_remote_address or "",
    )


def _entries(plain: PlainAccessConfig) -> tuple[tuple[PolicyEntry, ...], tuple[PolicyEntry, ...]]:
    custom: list[PolicyEntry] = []
    for kind, permissions in ((Kind.TOPIC, plain.topic_perms), (Kind.GROUP, plain.group_perms)):
        for text in permissions:
            name, equals, permission = text.partition("=")
            if not equals or not name.strip():
                raise BadInput(f"the permission {text!r:.120} is not like name=PUB|SUB")
            custom += _pair(_resource(kind, name.strip()), _actions(permission))
    custom.append(_entry(Resource(Kind.TOPIC, TRACE_TOPIC), frozenset({Action.PUB, Action.GET})))
    default = [
        _entry(Resource(kind, None), _actions(permission))
        for kind, permission in (
            (Kind.TOPIC, plain.default_topic_perm),
            (Kind.GROUP, plain.default_group_perm),
        )
        if _actions(permission or "DENY")
    ]
    default.append(_entry(Resource(Kind.CLUSTER, None), frozenset({Action.GET, Action.LIST})))
    return tuple(custom), tuple(default)


def _resource(kind: Kind, name: str) -> Resource:
    if name.startswith(RETRY_PREFIX):
        return Resource(Kind.GROUP, name[len(RETRY_PREFIX) :])
    return Resource(kind, name)


def _actions(permission: str | None) -> frozenset[Action]:
    actions = _PERMISSIONS.get((permission or "DENY").replace(" ", "").upper())
    if actions is None:
        raise BadInput(f"the permission {permission!r:.80} is none of {', '.join(_PERMISSIONS)}")
    return actions


def _pair(resource: Resource, actions: frozenset[Action]) -> list[PolicyEntry]:
    """What is named is decided here: the rest of the actions must not fall through to the defaults."""
    rest = frozenset(Action) - {Action.ALL} - actions
    denied = PolicyEntry(resource, rest, Decision.DENY)
    return [_entry(resource, actions), denied] if actions else [denied]


def _entry(resource: Resource, actions: frozenset[Action]) -> PolicyEntry:
    return PolicyEntry(resource, actions, Decision.ALLOW)


# -- changes that administrators ask for --------------------------------------------------------------------


def format_plain_acl(acl: PlainAcl) -> str:
    from yaml import safe_dump

    content: dict[str, Any] = {
        "globalWhiteRemoteAddresses": list(acl.white_addresses),
        "accounts": [_plain_mapping(account) for account in acl.accounts],
        "dataVersion": [acl.version.to_json()],
    }
    return str(safe_dump(content, sort_keys=False, allow_unicode=True))


def _plain_mapping(account: PlainAccessConfig) -> dict[str, Any]:
    return {
        key: list(value) if isinstance(value, tuple) else value for key, value in account.to_json().items()
    }


def with_account(
    accounts: Iterable[PlainAccessConfig], changed: PlainAccessConfig
) -> tuple[PlainAccessConfig, ...]:
    kept = tuple(account for account in accounts if account.access_key != changed.access_key)
    return (*kept, changed)


def merged_account(old: PlainAccessConfig | None, given: Mapping[str, Any]) -> PlainAccessConfig:
    """The account with what a request gives; what it leaves out stays."""
    members = {} if old is None else _plain_mapping(old)
    members |= {key: value for key, value in given.items() if value is not None}
    account = PlainAccessConfig.from_json(members)
    check_plain_account(account)
    return account
