"""Profiles fill in what broker.conf does not say, and the page says what they are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from engine.broker.settings.options import load_options
from engine.broker.settings.profiles import PROFILES
from engine.daemon.access_settings import AccessMode
from engine.errors import BadInput

PAGE = Path(__file__).parents[4] / "docs" / "replication.md"


def test_without_a_profile_the_defaults_are_rocketmqs() -> None:
    options = load_options("")
    assert (options.flush_disk_type, options.broker_role) == ("ASYNC_FLUSH", "ASYNC_MASTER")
    assert not options.enable_property_filter and options.live.auto_create_topic_enable


def test_safe_waits_for_disks_and_replicas() -> None:
    options = load_options("signalboxProfile=safe")
    assert options.is_sync_flush and options.broker_role == "SYNC_MASTER"
    assert options.min_in_sync_replicas == 2 and options.all_ack_in_sync_state_set
    assert not options.live.auto_create_topic_enable and options.live.slave_read_enable
    assert not [warning for warning in options.warnings if "signalboxProfile" in warning]


def test_broker_conf_wins_over_its_profile() -> None:
    options = load_options("signalboxProfile=safe\nbrokerRole=SLAVE\nbrokerId=1\nflushDiskType=ASYNC_FLUSH")
    assert options.is_slave and not options.is_sync_flush


def test_an_unknown_profile_refuses_to_start() -> None:
    with pytest.raises(BadInput, match="fast or safe"):
        load_options("signalboxProfile=quick")


def test_the_page_lists_the_settings_of_each_profile() -> None:
    rows = re.findall(r"^\| `(\w+)` \| [^|]+ \| ((?:`\w+=\w+` ?)+)\|$", PAGE.read_text(), re.M)
    documented = {name: dict(re.findall(r"`(\w+)=(\w+)`", settings)) for name, settings in rows}
    assert documented == PROFILES


def test_a_profile_stands_back_where_access_control_is_administration() -> None:
    options = load_options("signalboxProfile=safe\nsignalboxAccessControl=administration\n")
    assert options.access.guards_changes_only
    assert load_options("signalboxProfile=safe\n").access.mode is AccessMode.ACL2
