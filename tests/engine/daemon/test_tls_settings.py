"""RocketMQ's tls.* settings: what they become, what is refused, what is warned about."""

from __future__ import annotations

import pytest

from engine.daemon.tls_settings import DEFAULT_FILE, TlsSettings, read_tls
from engine.errors import BadInput
from engine.net.tls import ClientAuth, ServerFiles, TlsMode, TlsOptions

CERTIFICATE = {"tls.server.certPath": "/server.pem", "tls.server.keyPath": "/server.key"}
CONFIG_FILE = """
tls.server.need.client.auth=require
tls.server.keyPath=/server.key
tls.server.certPath=/server.pem
tls.server.keyPassword=2345
tls.server.authClient=true
tls.server.trustCertPath=/ca.pem
tls.client.keyPath=/client.key
tls.client.keyPassword=1234
tls.client.certPath=/client.pem
tls.client.authServer=false
tls.client.trustCertPath=/ca.pem
"""


def test_without_settings_a_server_is_permissive_and_has_no_certificate():
    settings = read_tls({})
    assert (settings.mode, settings.server, settings.client) == (TlsMode.PERMISSIVE, None, None)
    assert settings == TlsSettings()
    assert settings.open_server().context is None


def test_all_settings_come_through_the_file():
    """RocketMQ's testTlsConfigThroughFile"""
    given = {"tls.config.file": "/my.properties", "tls.enable": "true"}
    settings = read_tls(given, {"/my.properties": CONFIG_FILE}.get)
    assert settings.server == ServerFiles("/server.pem", "/server.key", "2345", "/ca.pem", ClientAuth.REQUIRE)
    assert settings.client == TlsOptions("/ca.pem", "/client.pem", "/client.key", "1234", verify=False)


def test_the_file_wins_over_the_configuration_as_in_rocketmq():
    settings = read_tls(CERTIFICATE, {DEFAULT_FILE: "tls.server.certPath=/other.pem"}.get)
    assert settings.server == ServerFiles("/other.pem", "/server.key")


def test_a_file_that_is_named_must_exist_the_default_one_need_not():
    with pytest.raises(BadInput, match="no such file"):
        read_tls({"tls.config.file": "/missing"})
    read_tls({"tls.config.file": DEFAULT_FILE})


@pytest.mark.parametrize("line", ["tls.server.mode=enforcing", "tls.enable=true", "useTLS=true"])
def test_what_the_file_cannot_say_is_refused_there_instead_of_ignored(line):
    with pytest.raises(BadInput, match="has no effect"):
        read_tls({}, {DEFAULT_FILE: line}.get)


@pytest.mark.parametrize(
    "given",
    [
        {"tls.server.mode": "enforced"},
        {"tls.server.need.client.auth": "yes"},
        {"tls.test.mode.enable": "1"},
        {"tls.enable": "on"},
        {"tls.server.certPath": "/server.pem"},
        {"tls.server.keyPath": "/server.key"},
    ],
)
def test_a_value_that_is_not_understood_stops_the_start(given):
    with pytest.raises(BadInput):
        read_tls(given)


def test_enforcing_servers_dial_others_with_tls_too():
    given = CERTIFICATE | {"tls.server.mode": "Enforcing"}
    assert read_tls(given).client == TlsOptions()
    assert read_tls(given | {"tls.enable": "false"}).client is None
    assert read_tls(CERTIFICATE).client is None
    assert read_tls({"useTLS": "true"}).client == TlsOptions()


def test_not_checking_clients_must_be_said_and_is_warned_about():
    """RocketMQ's serverAcceptsUntrustedClientCert: there it is the default."""
    asking = CERTIFICATE | {"tls.server.need.client.auth": "require", "tls.server.trustCertPath": "/ca.pem"}
    checked = read_tls(asking)
    assert checked.server is not None and checked.server.client_auth is ClientAuth.REQUIRE
    assert checked.warnings == ()
    unchecked = read_tls(asking | {"tls.server.authClient": "false"})
    assert unchecked.server is not None and unchecked.server.client_auth is ClientAuth.NONE
    assert len(unchecked.warnings) == 1


def test_test_mode_makes_a_certificate_is_warned_about_and_never_replaces_a_real_one():
    tested = read_tls({"tls.test.mode.enable": "true", "tls.server.mode": "enforcing"})
    assert tested.open_server().context is not None
    assert tested.client == TlsOptions(verify=False)
    assert len(tested.warnings) == 2
    both = read_tls(CERTIFICATE | {"tls.test.mode.enable": "true"})
    assert both.server is not None
    assert "no effect" in both.warnings[0]


def test_disabled_reads_no_certificate():
    given = CERTIFICATE | {"tls.server.mode": "disabled"}
    assert read_tls(given).open_server().context is None


def test_a_certificate_that_cannot_be_read_stops_the_start():
    with pytest.raises(BadInput, match=r"/server\.pem cannot be read"):
        read_tls(CERTIFICATE).open_server()


def test_passwords_are_shown_nowhere():
    given = CERTIFICATE | {"tls.server.keyPassword": "canary", "tls.client.keyPassword": "canary"}
    settings = read_tls(given | {"tls.enable": "true"})
    assert "canary" not in repr(settings)
    assert dict(settings.shown)["tls.server.certPath"] == "/server.pem"
