"""The official Java clients over TLS: as they come (trusting anybody), and set up to check and be checked."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.certificates import Authority, Issued
from tests.engine.client.servers import start_broker, start_name_server

from .jars import CLIENT_VERSIONS
from .java_client import JavaClient, JavaError
from .received import bodies, numbered

pytestmark = pytest.mark.needs_maven
TLS = {"tls.enable": "true"}


@dataclass(slots=True)
class TlsCluster:
    namesrv: str
    home: Path
    authority: Authority
    _started: list[JavaClient] = field(default_factory=list)

    def client(self, version: str, properties: Mapping[str, str]) -> JavaClient:
        home = self.home / f"java-{len(self._started)}"
        self._started.append(JavaClient(version, self.namesrv, home, properties))
        return self._started[-1]

    def close(self) -> None:
        for client in self._started:
            client.close()


@contextlib.contextmanager
def running(home: Path, **settings: str) -> Iterator[TlsCluster]:
    """A name server and a broker with a certificate, and these settings besides."""
    authority = Authority(home / "ca")
    issued = authority.issue("server")
    if "tls.test.mode.enable" not in settings:
        settings |= {"tls.server.certPath": issued.cert, "tls.server.keyPath": issued.key}
    own = authority.issue("broker")
    settings |= {"tls.client.trustCertPath": authority.ca, "tls.server.trustCertPath": authority.ca}
    settings |= {"tls.client.certPath": own.cert, "tls.client.keyPath": own.key}
    with contextlib.ExitStack() as stack:
        name_server = start_name_server(home, **settings)
        stack.callback(name_server.stop)
        broker = start_broker(home, name_server.address, **settings)
        stack.callback(broker.stop)
        cluster = TlsCluster(name_server.address, home, authority)
        stack.callback(cluster.close)
        yield cluster


def checking(home: Path, authority: Authority, mine: Issued | None = None) -> dict[str, str]:
    """Properties of a client that verifies its servers, and shows a certificate if it has one."""
    home.mkdir(exist_ok=True)
    lines = ["tls.test.mode.enable=false", "tls.client.authServer=true"]
    lines.append(f"tls.client.trustCertPath={authority.ca}")
    if mine is not None:
        lines += [f"tls.client.certPath={mine.cert}", f"tls.client.keyPath={mine.key}"]
    path = home / "tls.properties"
    path.write_text("\n".join(lines))
    return TLS | {"tls.config.file": str(path)}


def send_and_receive(sender: JavaClient, receiver: JavaClient, fresh: Callable[[str], str]) -> None:
    topic, name = fresh("tls"), fresh("pusher")
    sender.do("send-sync", topic=topic, count=16, prefix="secret")
    receiver.do("push-start", name=name, topic=topic, group=fresh("group"))
    got = receiver.do("push-wait", name=name, count=16, timeoutMs=60_000)
    assert bodies(got) == sorted(numbered("secret", 16))
    receiver.do("push-stop", name=name)


@pytest.mark.parametrize("version", CLIENT_VERSIONS)
@pytest.mark.parametrize("mode", ["permissive", "enforcing"])
def test_java_sends_and_receives_over_tls(
    version: str, mode: str, tmp_path: Path, fresh: Callable[[str], str]
) -> None:
    with running(tmp_path, **{"tls.server.mode": mode}) as cluster:
        client = cluster.client(version, TLS)
        send_and_receive(client, client, fresh)


@pytest.mark.parametrize("version", CLIENT_VERSIONS)
def test_tls_and_plain_clients_meet(version: str, tmp_path: Path, fresh: Callable[[str], str]) -> None:
    with running(tmp_path) as cluster:
        plain, secret = cluster.client(version, {}), cluster.client(version, TLS)
        send_and_receive(plain, secret, fresh)
        send_and_receive(secret, plain, fresh)


@pytest.mark.parametrize("version", CLIENT_VERSIONS)
def test_a_plain_client_does_not_get_through_to_an_enforcing_cluster(
    version: str, tmp_path: Path, fresh: Callable[[str], str]
) -> None:
    with running(tmp_path, **{"tls.server.mode": "enforcing"}) as cluster:
        client = cluster.client(version, {})
        with pytest.raises(JavaError):
            client.do("send-sync", topic=fresh("tls"), count=1, prefix="x")


@pytest.mark.parametrize("version", CLIENT_VERSIONS)
def test_java_checks_and_is_checked(version: str, tmp_path: Path, fresh: Callable[[str], str]) -> None:
    """Both sides show certificates; then a client that knows other authorities, and one that has none."""
    with running(
        tmp_path, **{"tls.server.mode": "enforcing", "tls.server.need.client.auth": "require"}
    ) as cluster:
        mine = cluster.authority.issue("client")
        client = cluster.client(version, checking(tmp_path / "good", cluster.authority, mine))
        send_and_receive(client, client, fresh)
        stranger = Authority(tmp_path / "other-ca", "other")
        for properties in (
            checking(tmp_path / "other", stranger, mine),
            checking(tmp_path / "none", cluster.authority),
            checking(tmp_path / "theirs", cluster.authority, stranger.issue("client")),
        ):
            refused = cluster.client(version, properties)
            with pytest.raises(JavaError):
                refused.do("send-sync", topic=fresh("tls"), count=1, prefix="x")


def test_java_meets_the_test_mode_that_rocketmq_has_by_default(
    tmp_path: Path, fresh: Callable[[str], str]
) -> None:
    with running(tmp_path, **{"tls.test.mode.enable": "true"}) as cluster:
        client = cluster.client("5", TLS)
        send_and_receive(client, client, fresh)
