"""Puts a broker's access control together from its settings: accounts, gate, handlers, files.

Off: no gate, and requests about users are refused. ACL 2.0 and `administration`: sealed users in
config/access.json. ACL 1.0: the operator's files, checked every half second. The constructor reads the files,
before the broker listens; a fault in them refuses the start. Loop thread only.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path

from engine.access.accounts import (
    ACCESS_FILE,
    Account,
    AccountTable,
    StoredUsers,
    decode_accounts,
    encode_accounts,
)
from engine.access.gate import Accounts, Gate, GateSettings, Peer
from engine.access.plain_files import PlainFiles, acl1_paths
from engine.access.resources import Action
from engine.access.rules import BROKER_RULES, DECLINED, Rule
from engine.access.sealing import Seal, load_seal, write_private
from engine.access.wording import Acl1Wording, Acl2Wording, AdministrationWording
from engine.broker.admin.handlers_plain_acl import PlainAclHandlers
from engine.broker.admin.handlers_users import AccessHandlers
from engine.broker.admin.refused_codes import REFUSALS
from engine.broker.replication.metadata import ReplicaFile, ReplicaFiles
from engine.broker.settings.options import BrokerIdentity, BrokerOptions
from engine.broker.state.state_file_io import StateFile
from engine.broker.state.state_files_io import load_file
from engine.daemon.access_settings import AccessMode
from engine.errors import BadInput, EngineError
from engine.net.outcomes import Handler
from engine.protocol.commands import Command
from engine.protocol.signing import Credentials

log = logging.getLogger(__name__)

RELOAD_S = 0.5


class AccessControl:
    """`gate(routes)` guards the routes, `routes()` serves requests about users, `files()` stores them."""

    def __init__(self, options: BrokerOptions, config: Path, now_ms: Callable[[], int]) -> None:
        self._settings = settings = options.access
        self._cluster = options.broker_cluster_name
        self._config = config
        self._now_ms = now_ms
        self._gate: Gate | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._plain: PlainFiles | None = None
        self._seal: Seal | None = None
        self._adopted = b""
        self.users = AccountTable()
        if settings.mode is AccessMode.ACL1:
            self._plain = _plain_files(settings.home)
        elif settings.has_users:
            self._load_users(options.broker_name)

    # -- used by the broker ---------------------------------------------------------------------------------

    @property
    def credentials(self) -> Credentials | None:
        """The broker signs its own requests with these."""
        return self._settings.cluster_credentials

    def routes(self, identity: BrokerIdentity) -> dict[int, Handler]:
        users = self.users if self._seal is not None else None
        return {
            **AccessHandlers(users, self._close, self._account_of).routes(),
            **PlainAclHandlers(self._plain, identity, self._now_ms).routes(),
        }

    def gate(self, routes: Mapping[int, Handler]) -> Gate | None:
        """The gate in front of these handlers; None when access control is off."""
        settings = self._settings
        if not settings.is_on:
            return None
        rules: dict[int, Rule] = dict.fromkeys(map(int, REFUSALS), DECLINED) | BROKER_RULES
        accounts: Accounts = self.users
        wanted = GateSettings(
            cluster=self._cluster,
            authorizes=settings.authorizes,
            unsigned_codes=settings.unsigned_codes,
            unauthorized_codes=settings.unauthorized_codes,
            guards_changes_only=settings.guards_changes_only,
            words=AdministrationWording() if settings.guards_changes_only else Acl2Wording(),
        )
        if self._plain is not None:
            accounts = self._plain.accounts
            wanted = GateSettings(
                cluster=self._cluster,
                users_are_supers=True,
                is_free_address=self._plain.is_free_address,
                is_free_address_of=self._plain.is_free_address_of,
                words=Acl1Wording(),
            )
        self._gate = Gate(accounts, rules, routes.keys(), wanted)
        return self._gate

    def check_record(self, request: Command, peer: Peer, topic: str, action: Action, group: str = "") -> None:
        """For handlers that learn the topic only from a stored message."""
        if self._gate is not None:
            self._gate.check_record(request, peer, topic, action, group)

    def files(self) -> dict[str, StateFile]:
        if self._seal is None:
            return {}
        path = self._config / ACCESS_FILE
        return {ACCESS_FILE: StateFile(path, self.users.all, encode_accounts)}

    def replica_files(self, save: Callable[[str], None]) -> ReplicaFiles:
        """Users for slaves, with sealed secrets: the members of a group share one key file."""
        if self._seal is None:
            return {}

        def adopt(data: bytes) -> None:
            if self._adopt(data):
                save(ACCESS_FILE)

        return {ACCESS_FILE: ReplicaFile(lambda: encode_accounts(self.users.all()), adopt)}

    def _adopt(self, data: bytes) -> bool:
        """Replace the users by the master's, if they differ and can be read."""
        if self._seal is None or data in (self._adopted, encode_accounts(self.users.all())):
            return False
        self._adopted = data
        try:
            self.users.replace_all(decode_accounts(StoredUsers.decode(data), self._seal))
        except EngineError as error:
            log.error("the master's users cannot be taken: %s", error.text)
            return False
        if self._settings.cluster_credentials is not None:
            self._put_cluster_user(self._settings.cluster_credentials)
        return True

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._plain is not None:
            self._plain.reload_if_changed()
            self._timer = loop.call_later(RELOAD_S, self.start, loop)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    # -- inside ---------------------------------------------------------------------------------------------

    def _close(self, secret: bytes) -> str:
        return self._seal.close(secret) if self._seal is not None else ""

    def _account_of(self, request: Command) -> Account | None:
        return self._gate.account_of(request) if self._gate is not None else None

    def _load_users(self, broker: str) -> None:
        settings = self._settings
        stored = load_file(self._config / ACCESS_FILE, StoredUsers.decode) or StoredUsers()
        key_file = Path(settings.key_file).expanduser()
        self._seal = load_seal(key_file, self._config.parent, may_create=not stored.users)
        self.users.replace_all(decode_accounts(stored, self._seal))
        if settings.first_user is not None and self.users.find(settings.first_user.access_key) is None:
            self._create_super(settings.first_user)
        if settings.cluster_credentials is not None:
            self._put_cluster_user(settings.cluster_credentials)
        if settings.migrates:
            self._migrate()
        if not self.users.all():
            self._create_admin(key_file.parent / f"admin-{broker}.yml")

    def _create_super(self, who: Credentials) -> None:
        secret = who.secret_key.encode()
        self.users.create(Account(who.access_key, secret, self._close(secret), is_super=True))

    def _put_cluster_user(self, who: Credentials) -> None:
        """broker.conf decides the cluster's credential, so that it can be changed there."""
        secret = who.secret_key.encode()
        known = self.users.find(who.access_key)
        if known is None:
            self._create_super(who)
        elif known.secret != secret or not known.is_super or not known.is_enabled:
            log.warning("the cluster's user %r is changed to what broker.conf has", who.access_key)
            self.users.update(
                who.access_key, secret=(secret, self._close(secret)), is_super=True, is_enabled=True
            )

    def _migrate(self) -> None:
        """Create users for accounts of ACL 1.0 that are not users yet."""
        for account in _plain_files(self._settings.home).accounts.all():
            if self.users.find(account.name) is None:
                sealed = self._close(account.secret)
                self.users.create(Account(account.name, account.secret, sealed, account.is_super))
                if account.acl and not account.is_super:
                    self.users.grant(account.name, account.acl)
                log.warning("the account %r of plain_acl.yml is a user now", account.name)

    def _create_admin(self, path: Path) -> None:
        """No user is configured: create a super user and write its random secret to a new file."""
        secret = secrets.token_urlsafe(24)
        write_private(path, f"accessKey: admin\nsecretKey: {secret}\n".encode())
        self._create_super(Credentials("admin", secret))
        log.warning("the super user 'admin' was created; its secret is in %s", path)


def _plain_files(home: str) -> PlainFiles:
    place = home or os.environ.get("ROCKETMQ_HOME", "")
    if not place:
        raise BadInput(
            "aclEnable=true: set rocketmqHome or ROCKETMQ_HOME, below which conf/plain_acl.yml lies"
        )
    root = Path(place).expanduser()
    main = root / "conf" / "plain_acl.yml"
    if not main.exists() and not (root / "conf" / "acl").is_dir():
        raise BadInput(f"aclEnable=true: there is neither {main} nor a folder conf/acl beside it")
    return PlainFiles(acl1_paths(root), main)
