"""Which credentials the command line takes, and from where: options, environment, files, in that order."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import pytest

from engine.admin.credentials import chosen_credentials, find_credential_file
from engine.admin.main import build_parser
from engine.errors import BadInput

HERE = "10.0.0.1:9876"
IN_ROOT = "hosts/local/clusters/orders-1/secrets/administrator.yml"


def write(path: Path, name: str, servers: str = HERE, mode: int = 0o600) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"accessKey: {name}\nsecretKey: secret-of-{name}\nnameServers: {servers}\n")
    path.chmod(mode)
    return path


def given(*words: str) -> argparse.Namespace:
    return build_parser().parse_args(["clusterList", "-n", HERE, *words])


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {"SIGNALBOX_DATA": str(tmp_path / "data"), "HOME": str(tmp_path / "home")}


def chosen(environment: dict[str, str], *words: str) -> str | None:
    found = chosen_credentials(given(*words), environment)
    return None if found is None else found.access_key


def test_the_order_of_places(tmp_path: Path, environment: dict[str, str]) -> None:
    assert chosen(environment) is None
    write(tmp_path / "home/.signalbox/credentials/orders.yml", "home")
    assert chosen(environment) == "home"
    write(tmp_path / "data" / IN_ROOT, "data-root")
    assert chosen(environment) == "data-root"
    write(tmp_path / "rocketmq/conf/tools.yml", "tools")
    environment["ROCKETMQ_HOME"] = str(tmp_path / "rocketmq")
    assert chosen(environment) == "tools"
    environment |= {"SIGNALBOX_ACCESS_KEY": "variable", "SIGNALBOX_SECRET_KEY": "s"}
    assert chosen(environment) == "variable"
    assert chosen(environment, "--credentials", str(write(tmp_path / "named.yml", "named"))) == "named"
    assert chosen(environment, "-ak", "option", "-sk", "s") == "option"
    assert chosen(environment, "--unsigned") is None


def test_a_file_of_another_cluster_signs_nothing(tmp_path: Path, environment: dict[str, str]) -> None:
    write(tmp_path / "data" / IN_ROOT, "other", "10.0.0.2:9876;10.0.0.1:9877")
    write(tmp_path / "home/.signalbox/credentials/none.yml", "none", "")
    (tmp_path / "home/.signalbox/credentials/broken.yml").write_text(f"nameServers: [{HERE}")
    assert chosen(environment) is None


def test_an_agents_data_root_and_several_name_servers(tmp_path: Path, environment: dict[str, str]) -> None:
    old = write(tmp_path / "data/clusters/orders-1/secrets/administrator.yml", "old", f"10.9.9.9:1;{HERE}")
    new = write(tmp_path / "data/clusters/orders-2/secrets/administrator.yml", "new", HERE)
    os.utime(old, ns=(1, 1))
    assert find_credential_file(f"10.8.8.8:2;{HERE}", environment) == new
    assert find_credential_file("10.9.9.9:1", environment) == old


def test_localhost_is_the_same_machine(tmp_path: Path, environment: dict[str, str]) -> None:
    path = write(tmp_path / "data" / IN_ROOT, "local", "127.0.0.1:9876")
    assert find_credential_file("localhost:9876", environment) == path


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620])
def test_a_file_that_others_reach_is_refused(tmp_path: Path, environment: dict[str, str], mode: int) -> None:
    write(tmp_path / "data" / IN_ROOT, "open", mode=mode)
    with pytest.raises(BadInput, match="chmod 600"):
        chosen(environment)
