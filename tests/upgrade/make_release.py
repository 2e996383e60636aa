"""Writes the fixtures of a release, in the tree of that release:

    cd TREE && PYTHONPATH=. .venv/bin/python PATH_OF_THIS_FILE VERSION FOLDER

Engine, platform and test helpers are those of the release, so every file is what its users have. Needs
Debian's PostgreSQL. Made once per release: the results are committed beside this file and stay as they are.

    store.tar.xz       one broker: messages, offsets, a delay, a timer, a half message, open pops
    group.tar.xz       three members of a group at epoch 2, after a promotion
    data-root.tar.xz   what `make up` left behind: database, key, a cluster of a master and a slave
    postgresql.sql.xz  the same rows as a dump of PostgreSQL
    backup.sbx         the same rows as a backup, with the key
    expected.json      what a later tree must find in them
"""

from __future__ import annotations

import json
import lzma
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from readings import messages_of, offsets_of  # beside this file: the release has no tests/upgrade

from engine.client import (
    ConsumeFromWhere,
    ConsumerOptions,
    Message,
    PopOptions,
    TransactionState,
)
from engine.client.blocking import Admin, PopConsumer, Producer, PushConsumer, TransactionProducer
from tests import debian_servers
from tests.crash.cluster import Broker, NameServer
from tests.crash.group import Group
from tests.e2e.running import Platform, Rest

DATA_ROOT = Path("/var/lib/signalbox/data")
"""Written into the files of the release; tests put their own folder in its place."""
OVERRIDES = {
    "mappedFileSizeCommitLog": "1048576",
    "maxMessageSize": "65536",
    "mappedFileSizeConsumeQueue": "40000",
}
FROM_FIRST = ConsumerOptions(
    from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET, commit_interval_s=0.2, rebalance_s=1.0
)


def until(holds: Callable[[], object], what: str, seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.1)


def body_of(name: str, number: int) -> bytes:
    return f"{name}-{number} ".encode() * 120


def send(namesrv: str, topic: str, count: int, first: int = 0) -> None:
    with Producer("shops", namesrv=namesrv) as producer:
        for number in range(first, first + count):
            producer.send(
                Message(
                    topic,
                    body_of(topic, number),
                    keys=[f"{topic}-{number}"],
                    tags=("even", "odd")[number % 2],
                )
            )


def consume(namesrv: str, topic: str, group: str, count: int) -> None:
    seen: set[bytes] = set()
    consumer = PushConsumer(
        group, lambda message: seen.add(message.body), namesrv=namesrv, options=FROM_FIRST
    )
    consumer.subscribe(topic)
    with consumer:
        until(lambda: len(seen) == count, f"{group} has consumed {count} messages of {topic}")
        time.sleep(1.0)


def pack(folder: Path, target: Path, *skip: str) -> None:
    def keep(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = "root"
        name = Path(entry.name).name
        return None if name in skip or not (entry.isfile() or entry.isdir()) else entry

    with tarfile.open(target, "w:xz", preset=9) as archive:
        archive.add(folder, arcname=".", filter=keep)


def _popped(consumer: PopConsumer, bodies: list[str]) -> list[str]:
    """Receives without acknowledging."""
    bodies.extend(message.body.decode().split()[0] for message in consumer.receive(wait_ms=1_000))
    return []


def make_store(work: Path, target: Path) -> dict[str, Any]:
    name_server = NameServer(work)
    name_server.start()
    namesrv = f"127.0.0.1:{name_server.port}"
    broker = Broker(
        work,
        name_servers=[("127.0.0.1", name_server.port)],
        settings={"recallMessageEnable": "true", "transactionTimeOut": "600000"},
    )
    broker.start()
    with Admin(namesrv=namesrv) as admin:
        send(namesrv, "orders", 900)
        consume(namesrv, "orders", "billing", 900)
        send(namesrv, "orders", 40, first=900)
        send(namesrv, "parcels", 10)
        with PopConsumer(
            "packers", namesrv=namesrv, options=PopOptions(from_where=FROM_FIRST.from_where)
        ) as pops:
            pops.subscribe("parcels")
            popped: list[str] = []
            until(lambda: len(popped) + len(_popped(pops, popped)) >= 10, "ten parcels are popped")
        with TransactionProducer(
            "bank", lambda message: TransactionState.UNKNOWN, namesrv=namesrv
        ) as producer:
            producer.send_in_transaction(
                Message("payments", b"committed"), lambda message: TransactionState.COMMIT
            )
            producer.send_in_transaction(
                Message("payments", b"undecided"), lambda message: TransactionState.UNKNOWN
            )
        with Producer("shops", namesrv=namesrv) as producer:
            producer.send(Message("later", b"by level", delay_level=5))
            producer.send(Message("later", b"by time", delay_s=60))
        time.sleep(1.0)
        expected = {
            "messages": {topic: messages_of(admin, topic) for topic in ("orders", "parcels", "payments")},
            "offsets": offsets_of(admin, f"127.0.0.1:{broker.address[1]}"),
            "unacknowledged": popped,
            "undelivered": {"later": ["by level", "by time"], "payments": ["undecided"]},
        }
    broker.stop()
    name_server.stop()
    pack(broker.store, target / "store.tar.xz", "lock")
    return expected


def make_group(work: Path, target: Path) -> dict[str, Any]:
    group = Group(work, 3)
    group.start()
    namesrv = f"127.0.0.1:{group.name_server.port}"
    try:
        send(namesrv, "orders", 300)
        consume(namesrv, "orders", "billing", 300)
        group.promote(group.members[0], wanted=1)
        group.await_in_sync()
        send(namesrv, "orders", 50, first=300)
        until(lambda: group.is_in_sync({0, 1, 2}), "all members have the log")
        time.sleep(6.0)
        with Admin(namesrv=namesrv) as admin:
            expected = {
                "messages": {"orders": messages_of(admin, "orders")},
                "offsets": offsets_of(admin, group.members[1].place),
                "master": group.master()[0].number,
                "epoch": group.master()[1].epoch,
                "members": {str(member.number): member.place for member in group.members},
            }
    finally:
        group.close()
    for number in (0, 2, 1):
        group.members[number].stop()
    group.name_server.stop()
    stores = work / "stores"
    for member in group.members:
        shutil.copytree(member.store, stores / str(member.number))
    pack(stores, target / "group.tar.xz", "lock")
    return expected


def make_platform(target: Path) -> dict[str, Any]:
    platform = Platform(DATA_ROOT, cluster=False)
    platform.log = Path(tempfile.mkdtemp()) / "up.log"
    DATA_ROOT.mkdir(parents=True)
    platform.start()
    rest = platform.signed_in()
    try:
        wish = {
            "name": "prod",
            "name_servers": 1,
            "groups": 1,
            "slaves": 1,
            "overrides": OVERRIDES,
            "allow_same_host": True,
        }
        rest.finish(rest.post("clusters/", wish))
        namesrv = rest.get("clusters/prod/")["name_server_addresses"][0]
        rest.post("clusters/prod/topics/", {"name": "orders", "read_queues": 4, "write_queues": 4})
        rest.post("clusters/prod/groups/", {"name": "billing", "retry_max_times": 3})
        _add_people_and_alerts(rest)
        token = rest.post("tokens/", {"name": "deployments", "role": "viewer", "expires_in_days": 90})[
            "secret"
        ]
        send(namesrv, "orders", 60)
        consume(namesrv, "orders", "billing", 60)
        send(namesrv, "orders", 5, first=60)
        rest.finish(rest.post("clusters/prod/configure/", {"changes": {"fileReservedTime": "96"}}))
        until(lambda: rest.get("clusters/prod/groups/billing/")["lag"] == "5", "the console knows the lag")
        time.sleep(8.0)
        expected = {"password": platform.password, "token": token, "messages": 65, "lag": "5"}
    finally:
        platform.stop()
    _dump(target)
    pack(
        DATA_ROOT,
        target / "data-root.tar.xz",
        "logs",
        "out.log",
        "up.pid",
        "pid.json",
        "run.lock",
        "lock",
        "agent.lock",
    )
    shutil.rmtree(DATA_ROOT.parent)
    return expected


def _add_people_and_alerts(rest: Rest) -> None:
    rest.post(
        "users/",
        {
            "username": "olga",
            "password": "a long enough password",
            "bindings": [{"role": "operator", "cluster_pattern": "prod"}],
        },
    )
    rest.post(
        "alerts/channels/",
        {
            "name": "pager",
            "kind": "webhook",
            "url": "https://hooks.example.com/x",
            "secret": "at least eight",
        },
    )
    rest.post(
        "alerts/rules/",
        {
            "name": "billing behind",
            "kind": "lag",
            "cluster_pattern": "prod",
            "name_pattern": "billing*",
            "threshold": 60,
            "for_s": 120,
            "severity": "critical",
            "channels": ["pager"],
        },
    )


def _dump(target: Path) -> None:
    """The rows as a backup, and, restored by the release itself, as a dump of PostgreSQL."""
    backup = target / "backup.sbx"
    backup.unlink(missing_ok=True)
    _manage("backup", str(backup), "--with-key")
    with debian_servers.postgresql() as url:
        _manage("migrate", DATABASE_URL=url)
        _manage("restore", str(backup), DATABASE_URL=url)
        programs = debian_servers.postgresql_programs()
        dump = subprocess.run(
            [f"{programs}/pg_dump", "--no-owner", "--inserts", "--rows-per-insert=100", url],
            check=True,
            capture_output=True,
        )
    (target / "postgresql.sql.xz").write_bytes(lzma.compress(dump.stdout, preset=9))


def _manage(*arguments: str, **environment: str) -> None:
    subprocess.run(
        [sys.executable, "manage.py", *arguments],
        check=True,
        env={**os.environ, "SIGNALBOX_DATA": str(DATA_ROOT), **environment},
    )


def main() -> None:
    version, target = sys.argv[1], Path(sys.argv[2]).absolute()
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        expected = {
            "version": version,
            "store": make_store(Path(folder), target),
            "group": make_group(Path(folder) / "group", target),
            "platform": make_platform(target),
        }
    (target / "expected.json").write_text(json.dumps(expected, indent=None, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
