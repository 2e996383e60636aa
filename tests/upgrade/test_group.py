"""Three members of a group start from the files that release 0.1.0 left, and the group goes on."""

from __future__ import annotations

from pathlib import Path

from engine.client import Message
from engine.client.blocking import Admin, Producer
from tests.crash.group import Group
from tests.upgrade import release_files
from tests.upgrade.readings import messages_of, offsets_of

EXPECTED = release_files.expected("group")


def test_a_group_of_the_release_goes_on(tmp_path: Path) -> None:
    stores = release_files.unpack("group", tmp_path / "stores")
    group = Group(
        tmp_path / "group",
        3,
        settings=release_files.KEEP,
        stores={number: stores / str(number) for number in range(3)},
    )
    _give_addresses(group)
    namesrv = f"127.0.0.1:{group.name_server.port}"
    try:
        group.start()
        master, status = group.master()
        assert master.number == EXPECTED["master"]
        assert status.epoch >= EXPECTED["epoch"]
        with Admin(namesrv=namesrv) as admin:
            assert messages_of(admin, "orders") == EXPECTED["messages"]["orders"]
            assert offsets_of(admin, master.place) == EXPECTED["offsets"]
        group.promote(group.members[2])
        group.await_in_sync()
        with Producer("shops", namesrv=namesrv) as producer:
            assert producer.send(Message("orders", b"new")).status.name == "SEND_OK"
        assert group.check_equality() == []
    finally:
        group.close()
        for daemon in group.daemons:
            daemon.kill()


def _give_addresses(group: Group) -> None:
    """Members know each other by address, and the ports of a test are new ones."""
    for member in group.members:
        for file in member.store.glob("config/signalboxGroup.json*"):
            text = file.read_text()
            for other in group.members:
                text = text.replace(EXPECTED["members"][str(other.number)], other.place)
            file.write_text(text)
