"""The gate in front of every handler: who sends this request, and may they?

The signature is checked on every request, because one connection may carry several identities and the next
request may be anybody's. Decisions (user, need, address) are kept until the accounts change. A refusal is
raised before the handler runs, so nothing has changed; it is logged once per user, code, address and reason.
Loop thread only.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from engine.access.accounts import Account
from engine.access.needs import on_subscription, on_topic
from engine.access.policies import refusal
from engine.access.resources import Action, Kind, Need
from engine.access.rules import Rule, guarded_codes
from engine.access.wording import Acl2Wording, Wording
from engine.errors import EngineError
from engine.protocol.commands import Command
from engine.protocol.signing import ACCESS_KEY, is_signed_with

log = logging.getLogger(__name__)

_MAX_KEPT = 65_536
_MAX_LOGGED = 1_024


class Peer(Protocol):
    """The other end of a connection."""

    remote: tuple[str, int]
    is_verified: bool
    """Set here, once a request carried the right signature: what its connection may hold depends on it."""


class Accounts(Protocol):
    @property
    def version(self) -> int: ...

    def find(self, name: str) -> Account | None: ...


class RecordCheck(Protocol):
    """For handlers that learn only from a stored message whose it is."""

    def __call__(self, request: Command, peer: Peer, topic: str, action: Action, group: str = "") -> None: ...


def unchecked(request: Command, peer: Peer, topic: str, action: Action, group: str = "") -> None:
    """Access control is off."""


def no_address(ip: str) -> bool:
    return False


def no_address_of(account: Account, ip: str) -> bool:
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class GateSettings:
    """With `authorizes` off, any known user may do everything but change users or pose as a broker. With
    `users_are_supers` no policy but only a super user may look at or change users. With `guards_changes_only`
    whatever changes nothing is open to everybody; a request that names a user must still be that user's.

    `unsigned_codes` and `unauthorized_codes` are ACL 2.0's white lists; `is_free_address` and
    `is_free_address_of` those of ACL 1.0, which never free an admin's request.
    """

    cluster: str
    authorizes: bool = True
    users_are_supers: bool = False
    guards_changes_only: bool = False
    unsigned_codes: frozenset[int] = frozenset()
    unauthorized_codes: frozenset[int] = frozenset()
    is_free_address: Callable[[str], bool] = no_address
    is_free_address_of: Callable[[Account, str], bool] = no_address_of
    words: Wording = field(default_factory=Acl2Wording)


class Gate:
    """Call it with (request, peer): returns when the request may go on, raises when not.

    A code without a rule is refused if there is a handler for it; one that nobody handles goes on to be told
    so.
    """

    def __init__(
        self,
        accounts: Accounts,
        rules: Mapping[int, Rule],
        handled: Collection[int],
        settings: GateSettings,
    ) -> None:
        self._accounts = accounts
        self._rules = rules
        self._handled = frozenset(handled)
        self._guarded = guarded_codes(rules, self._handled) if settings.guards_changes_only else None
        self._settings = settings
        self._words = settings.words
        self._kept: dict[tuple[str, Need, str], str | None] = {}
        self._kept_version = -1
        self._logged: set[tuple[str, int, str, str]] = set()

    def __call__(self, request: Command, peer: Peer) -> None:
        try:
            self._admit(request, peer)
        except EngineError as error:
            self._log(request, peer.remote[0], error.text)
            raise

    def check_record(self, request: Command, peer: Peer, topic: str, action: Action, group: str = "") -> None:
        """A `RecordCheck`: the request passed the gate, and now its message turns out to be of this topic."""
        ip, account = peer.remote[0], self.account_of(request)
        if self._guarded is not None and request.code not in self._guarded:
            return
        if account is None or account.is_super or not self._settings.authorizes:
            return
        if request.code in self._settings.unauthorized_codes or self._is_free(request.code, account, ip):
            return
        needs = on_subscription(topic, group, (action,)) if group else [on_topic(topic, (action,))]
        try:
            for need in needs:
                self._check(account, need, ip)
        except EngineError as error:
            self._log(request, ip, error.text)
            raise

    def account_of(self, request: Command) -> Account | None:
        """Whose request it is, once it has passed."""
        name = request.fields.get(ACCESS_KEY)
        return self._accounts.find(name) if name else None

    # -- who ------------------------------------------------------------------------------------------------

    def _admit(self, request: Command, peer: Peer) -> None:
        code, settings, ip = request.code, self._settings, peer.remote[0]
        is_open = self._guarded is not None and code not in self._guarded
        if is_open and not request.fields.get(ACCESS_KEY):
            return
        if code in settings.unauthorized_codes and code in settings.unsigned_codes:
            # On both white lists: everybody's, also of users that are known elsewhere only.
            return
        account = self._named(request, ip)
        if self._is_free(code, account, ip):
            return
        if account is not None:
            if not is_signed_with(account.secret, request.fields, request.version, request.body):
                raise self._words.bad_signature(account.name)
            peer.is_verified = True
        if code not in settings.unauthorized_codes and not is_open:
            self._authorize(request, account, ip)

    def _named(self, request: Command, ip: str) -> Account | None:
        """The account that the request claims to be of; None where nobody needs to be named."""
        name = request.fields.get(ACCESS_KEY, "")
        if not name:
            if request.code in self._settings.unsigned_codes or self._is_free(request.code, None, ip):
                return None
            raise self._words.no_name()
        account = self._accounts.find(name)
        if account is None:
            if self._is_free(request.code, None, ip):
                return None
            raise self._words.unknown(name)
        if not account.is_enabled:
            raise self._words.disabled(name)
        return account

    def _is_free(self, code: int, account: Account | None, ip: str) -> bool:
        rule = self._rules.get(code)
        if rule is None or rule.is_admin:
            return False
        settings = self._settings
        if settings.is_free_address(ip):
            return True
        return account is not None and settings.is_free_address_of(account, ip)

    # -- may they -------------------------------------------------------------------------------------------

    def _authorize(self, request: Command, account: Account | None, ip: str) -> None:
        rule, settings = self._rules.get(request.code), self._settings
        if account is not None and account.is_super:
            return
        if rule is None:
            if request.code in self._handled:
                raise self._words.not_super("" if account is None else account.name, request.code)
            return
        if not settings.authorizes and not rule.is_peer and not rule.is_about_users:
            return
        if account is None:
            raise self._words.no_name()
        guards_users = rule.is_about_users and settings.users_are_supers
        if rule.is_peer or guards_users or not settings.authorizes:
            raise self._words.not_super(account.name, request.code)
        if rule.cluster:
            self._check(account, Need(Kind.CLUSTER, settings.cluster, rule.cluster), ip)
        if rule.needs is not None:
            for need in rule.needs(request):
                self._check(account, need, ip)

    def _check(self, account: Account, need: Need, ip: str) -> None:
        kept = self._kept
        if self._kept_version != self._accounts.version or len(kept) >= _MAX_KEPT:
            self._kept = kept = {}
            self._kept_version = self._accounts.version
        key = (account.name, need, ip)
        if key in kept:
            reason = kept[key]
        else:
            reason = kept[key] = refusal(account.acl, need, ip)
        if reason is not None:
            raise self._words.no_right(account.name, need, ip, reason)

    def _log(self, request: Command, ip: str, text: str) -> None:
        line = (request.fields.get(ACCESS_KEY, "")[:64], request.code, ip, text)
        if line in self._logged:
            return
        if len(self._logged) >= _MAX_LOGGED:
            self._logged.clear()
        self._logged.add(line)
        log.warning("request code %d of %r from %s refused: %s", request.code, line[0], ip, text)
