"""A name server and a broker with access control, as processes, and the users that the scenarios play.

Team A may use topics and groups that begin with `a-`, team B those with `b-`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from engine.client import Credentials, blocking
from engine.client.admin.access import acl_of
from engine.protocol.bodies.auth import UserInfo
from tests.engine.client.servers import Daemon, start_broker, start_name_server

BOSS = Credentials("admin-user", "canary-admin")
WORKER = Credentials("team-a-user", "canary-worker")
STRANGER = Credentials("team-b-user", "canary-stranger")


@dataclass(frozen=True, slots=True)
class Guarded:
    name_server: str
    broker: str
    home: Path

    def admin(self) -> blocking.Admin:
        return blocking.Admin(namesrv=self.name_server, credentials=BOSS)


def signed(who: Credentials | None) -> dict[str, str]:
    return {} if who is None else {"accessKey": who.access_key, "secretKey": who.secret_key}


def _users(home: Path) -> Path:
    path = home / "users.yml"
    accounts = [
        signed(BOSS) | {"admin": "true"},
        signed(WORKER) | {"defaultTopicPerm": "PUB|SUB", "defaultGroupPerm": "SUB"},
        signed(STRANGER) | {"defaultTopicPerm": "PUB|SUB", "defaultGroupPerm": "SUB"},
    ]
    path.write_text(json.dumps({"accounts": accounts}))
    path.chmod(0o600)
    return path


ON = {"authenticationEnabled": "true", "authorizationEnabled": "true"}
ADMINISTRATION = {"signalboxAccessControl": "administration"}


@contextmanager
def running_guarded(home: Path, access: Mapping[str, str] = MappingProxyType(ON)) -> Iterator[Guarded]:
    """Stopped at the end; its logs must then hold no secret."""
    settings = dict(access)
    settings["innerClientAuthenticationCredentials"] = '{"accessKey":"cluster","secretKey":"canary-cluster"}'
    name_server = start_name_server(home, **settings, signalboxUserFile=str(_users(home)))
    broker: Daemon | None = None
    try:
        broker = start_broker(
            home,
            name_server.address,
            **settings,
            initAuthenticationUser=json.dumps({"username": "admin-user", "password": "canary-admin"}),
            signalboxSecretKeyFile=str(home / "keys" / "secret.key"),
            transactionTimeOut="500",
            transactionCheckInterval="1000",
        )
        found = Guarded(name_server.address, broker.address, home)
        with found.admin() as admin:
            for who, team in ((WORKER, "a"), (STRANGER, "b")):
                admin.access.create_user(
                    found.broker, UserInfo(who.access_key, who.secret_key, "Normal", None)
                )
                own = [f"Topic:{team}-*", f"Group:{team}-*"]
                admin.access.create_acl(found.broker, acl_of(who.access_key, own, ["Pub", "Sub", "Get"]))
        yield found
    finally:
        if broker is not None:
            broker.stop()
        name_server.stop()
    logs = "".join(path.read_text() for path in home.rglob("*.log"))
    assert logs and "canary" not in logs
