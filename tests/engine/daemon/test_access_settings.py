"""The settings of access control: what they turn on, what they refuse, and that they show no secret."""

from __future__ import annotations

import pytest

from engine.daemon.access_settings import AccessMode, AccessSettings, exposure, read_access
from engine.errors import BadInput
from engine.net.tls import TlsMode

STRATEGIES = "org.apache.rocketmq.auth.authentication.strategy"
CLUSTER = '{"accessKey":"cluster","secretKey":"canary"}'


def test_nothing_is_on_by_default() -> None:
    assert read_access({}) == AccessSettings()
    assert not read_access({}).is_on


def test_acl_2() -> None:
    found = read_access(
        {
            "authenticationEnabled": "true",
            "authorizationEnabled": "TRUE",
            "authenticationWhitelist": "105, 106",
            "innerClientAuthenticationCredentials": CLUSTER,
            "authenticationStrategy": f"{STRATEGIES}.StatefulAuthenticationStrategy",
        }
    )
    assert (found.mode, found.authorizes) == (AccessMode.ACL2, True)
    assert found.unsigned_codes == {105, 106}
    assert found.cluster_credentials is not None and found.cluster_credentials.secret_key == "canary"
    assert "canary" not in repr(found)
    assert dict(found.shown)["innerClientAuthenticationCredentials"] == "******"


def test_acl_1_always_authorizes() -> None:
    found = read_access({"aclEnable": "true"})
    assert (found.mode, found.authorizes) == (AccessMode.ACL1, True)


@pytest.mark.parametrize(
    ("host", "tls", "warns"),
    [
        ("127.0.0.1", TlsMode.PERMISSIVE, False),
        ("::1", TlsMode.DISABLED, False),
        ("localhost", TlsMode.DISABLED, False),
        ("0.0.0.0", TlsMode.ENFORCING, False),
        ("0.0.0.0", TlsMode.PERMISSIVE, True),
        ("10.0.0.1", TlsMode.DISABLED, True),
    ],
)
def test_signatures_without_tls_beyond_this_machine_are_warned_about(
    host: str, tls: TlsMode, warns: bool
) -> None:
    assert bool(exposure(read_access({"authenticationEnabled": "true"}), tls, host)) is warns
    assert exposure(AccessSettings(), tls, host) == []


# -- administration -----------------------------------------------------------------------------------------


def test_administration_has_users_and_guards_changes_only() -> None:
    settings = read_access({"signalboxAccessControl": "administration", "authenticationEnabled": "false"})
    assert settings.mode is AccessMode.ADMINISTRATION and settings.is_on
    assert settings.has_users and settings.authorizes and settings.guards_changes_only
    assert dict(settings.shown)["signalboxAccessControl"] == "administration"


def test_without_the_key_rocketmqs_switches_decide() -> None:
    assert read_access({}).mode is AccessMode.OFF
    on = read_access({"signalboxAccessControl": "", "authenticationEnabled": "true"})
    assert on.mode is AccessMode.ACL2 and not on.guards_changes_only


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"authenticationEnabled": "true"}, "authenticationEnabled=true contradict"),
        (
            {"authenticationEnabled": "true", "authorizationEnabled": "true"},
            "authenticationEnabled=true contradict",
        ),
        ({"authorizationEnabled": "true"}, "authorizationEnabled=true contradict"),
        ({"aclEnable": "true"}, "aclEnable=true contradict"),
        ({"authenticationWhitelist": "25"}, "authenticationWhitelist contradict"),
        ({"authorizationWhitelist": "105,106"}, "authorizationWhitelist contradict"),
        ({"signalboxAccessControl": "on"}, "signalboxAccessControl=on is not allowed"),
        (
            {"signalboxAccessControl": "Administration"},
            "signalboxAccessControl=Administration is not allowed",
        ),
    ],
)
def test_what_contradicts_administration_is_refused(more: dict[str, str], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        read_access({"signalboxAccessControl": "administration"} | more)
