"""The platform that the pages talk to, people who sign in, and applications that send and receive."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from engine.client import ConsumeFromWhere, ConsumerOptions, Message, ProducerOptions, blocking
from engine.protocol.signing import Credentials
from tests.e2e.running import Platform, Rest, until

LOCAL = "local"
"""The cluster that `manage.py up` makes: two brokers, access control for administration."""


class BuiltPlatform(Platform):
    """As `make up` runs it; `make test-browser` has built what it needs before.

    SIGNALBOX_PAGES may name other pages than those of build/frontend.
    """

    def __init__(self, data: Path, *, cluster: bool) -> None:
        super().__init__(data, cluster=cluster)
        if pages := os.environ.get("SIGNALBOX_PAGES"):
            self.environment["SIGNALBOX_PAGES"] = pages

    def command(self) -> list[str]:
        return [sys.executable, "manage.py", "up", *self._options.split()]


class Console:
    def __init__(self, platform: Platform) -> None:
        self.platform = platform
        self.address = f"http://127.0.0.1:{platform.port}"
        self.rest: Rest = platform.signed_in()
        self._sessions: dict[str, Rest] = {"admin": self.rest}
        self._namesrv: dict[str, str] = {}

    def path(self, rest: str = "", cluster: str = LOCAL) -> str:
        return f"clusters/{cluster}/{rest}"

    # -- people ---------------------------------------------------------------------------------------------

    def person(self, name: str, *bindings: tuple[str, str, str]) -> str:
        """Somebody with these (role, clusters, names), who can open pages; made once."""
        if name not in self._sessions:
            password = secrets.token_urlsafe(12)
            wish = [{"role": r, "cluster_pattern": c, "name_pattern": n} for r, c, n in bindings]
            self.rest.post("users/", {"username": name, "password": password, "bindings": wish})
            session = Rest(self.rest.address)
            session.sign_in(name, password)
            self._sessions[name] = session
        return name

    def viewer(self) -> str:
        return self.person("vera", ("viewer", "*", "*"))

    def operator(self) -> str:
        return self.person("olga", ("operator", "*", "*"))

    def session_of(self, name: str) -> Rest:
        """What the API says to them without any page."""
        return self._sessions[name]

    def cookies_of(self, name: str) -> list[dict[str, str]]:
        session = self._sessions[name]
        return [
            {"name": cookie, "value": session.cookie(cookie), "url": self.address}
            for cookie in ("sessionid", "csrftoken")
        ]

    # -- what applications do -------------------------------------------------------------------------------

    def namesrv(self, cluster: str = LOCAL) -> str:
        if cluster not in self._namesrv:
            self._namesrv[cluster] = self.rest.get(self.path("", cluster))["name_server_addresses"][0]
        return self._namesrv[cluster]

    def administrator(self, cluster: str = LOCAL) -> Credentials:
        """Whom `signalbox-admin` finds by itself."""
        files = self.platform.data.glob(f"hosts/*/clusters/{cluster}-*/secrets/administrator.yml")
        content = yaml.safe_load(next(files).read_text())
        return Credentials(content["accessKey"], content["secretKey"])

    def topic(self, name: str, queues: int = 4, cluster: str = LOCAL) -> str:
        wish = {"name": name, "read_queues": queues, "write_queues": queues}
        self.rest.post(self.path("topics/", cluster), wish)
        return name

    def group(self, name: str, cluster: str = LOCAL, **wish: Any) -> str:
        self.rest.post(self.path("groups/", cluster), {"name": name, **wish})
        return name

    def send(
        self, topic: str, *messages: Message | str, trace: bool = False, cluster: str = LOCAL
    ) -> list[str]:
        """Ids of what was sent; a text is a body with the key `key-<text>`."""
        options = ProducerOptions(trace=trace)
        with blocking.Producer("shops", namesrv=self.namesrv(cluster), options=options) as producer:
            return [producer.send(_message(topic, each)).msg_id for each in messages]

    @contextmanager
    def consuming(
        self,
        group: str,
        *topics: str,
        listener: Callable[[Any], None] = lambda message: None,
        cluster: str = LOCAL,
        **options: Any,
    ) -> Iterator[blocking.PushConsumer]:
        wish = {
            "from_where": ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET,
            "commit_interval_s": 0.2,
            "rebalance_s": 1.0,
            **options,
        }
        consumer = blocking.PushConsumer(
            group, listener, namesrv=self.namesrv(cluster), options=ConsumerOptions(**wish)
        )
        for topic in topics:
            consumer.subscribe(topic)
        with consumer:
            yield consumer

    def seen(self, path: str, is_right: Callable[[Any], Any], what: str, timeout_s: float = 30.0) -> Any:
        """What the API says, once it is right: the collector needs a moment for what is new."""

        def look() -> Any:
            status, body = self.rest.call("GET", path)
            return body if status == 200 and is_right(body) else None

        return until(look, what, timeout_s)


def _message(topic: str, message: Message | str) -> Message:
    return (
        message if isinstance(message, Message) else Message(topic, message.encode(), keys=[f"key-{message}"])
    )


@contextmanager
def running_console(data: Path, *, cluster: bool = True) -> Iterator[Console]:
    platform = BuiltPlatform(data, cluster=cluster)
    try:
        platform.start()
        yield Console(platform)
    finally:
        platform.stop()
