"""A name server's access control, when it is told to have one: who may register, look up, and change.

The cluster's credential (innerClientAuthenticationCredentials) is the brokers'; everybody else is in a file
of accounts in the form of plain_acl.yml (signalboxUserFile), which is only read, and again when it changes.
RocketMQ's name servers have nothing of the kind, so all of it is off by default. Loop thread only.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from pathlib import Path

from engine.access.accounts import Account
from engine.access.gate import Gate, GateSettings, no_address
from engine.access.plain_files import PlainFiles
from engine.access.rules import NAMESRV_RULES
from engine.access.wording import Acl2Wording, AdministrationWording
from engine.daemon.access_settings import AccessMode, AccessSettings
from engine.errors import BadInput

RELOAD_S = 0.5


class NamesrvAccounts:
    """The cluster's user, then the file's."""

    def __init__(self, settings: AccessSettings) -> None:
        who = settings.cluster_credentials
        self._cluster = (
            None if who is None else Account(who.access_key, who.secret_key.encode(), is_super=True)
        )
        self.file: PlainFiles | None = None
        if settings.user_file:
            path = Path(settings.user_file).expanduser()
            if not path.exists():
                raise BadInput(f"signalboxUserFile={path}: there is no such file")
            self.file = PlainFiles(lambda: [path], path)

    @property
    def version(self) -> int:
        return 0 if self.file is None else self.file.accounts.version

    def find(self, name: str) -> Account | None:
        if self._cluster is not None and self._cluster.name == name:
            return self._cluster
        return None if self.file is None else self.file.accounts.find(name)


class NamesrvAccess:
    def __init__(self, settings: AccessSettings) -> None:
        if settings.mode is AccessMode.ACL1:
            raise BadInput(
                "aclEnable is a broker's; a name server has authenticationEnabled and signalboxUserFile"
            )
        self._settings = settings
        self._timer: asyncio.TimerHandle | None = None
        self._accounts: NamesrvAccounts | None = None
        if settings.is_on:
            self._accounts = NamesrvAccounts(settings)
            if settings.cluster_credentials is None:
                raise BadInput(
                    "a name server with access control needs innerClientAuthenticationCredentials: brokers "
                    "sign their registrations with it"
                )

    def gate(self, handled: Collection[int]) -> Gate | None:
        """The gate in front of these codes; None when everybody may do everything."""
        accounts, settings = self._accounts, self._settings
        if accounts is None:
            return None
        file = accounts.file
        wanted = GateSettings(
            cluster="",
            authorizes=settings.authorizes,
            unsigned_codes=settings.unsigned_codes,
            unauthorized_codes=settings.unauthorized_codes,
            guards_changes_only=settings.guards_changes_only,
            words=AdministrationWording() if settings.guards_changes_only else Acl2Wording(),
            is_free_address=no_address if file is None else file.is_free_address,
            is_free_address_of=PlainFiles.is_free_address_of,
        )
        return Gate(accounts, NAMESRV_RULES, handled, wanted)

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._accounts is not None and self._accounts.file is not None:
            self._accounts.file.reload_if_changed()
            self._timer = loop.call_later(RELOAD_S, self.start, loop)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
