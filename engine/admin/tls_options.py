"""TLS options, which every command has. The password of a key comes from the environment: other users of the
machine can read the arguments of a process."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from engine.net.tls import TlsOptions

PASSWORD_VARIABLE = "SIGNALBOX_TLS_KEY_PASSWORD"
_NAMES = ("tls_ca", "tls_cert", "tls_key", "tls_server_name", "tls_insecure")


def add_tls_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("TLS", "each of these turns TLS on")
    group.add_argument("--tls", action="store_true", help="use TLS and trust the system's authorities")
    group.add_argument("--tls-ca", metavar="FILE", help="trust these authorities instead")
    group.add_argument("--tls-cert", metavar="FILE", help="client certificate, for servers that require one")
    group.add_argument("--tls-key", metavar="FILE", help=f"its key (password in ${PASSWORD_VARIABLE})")
    group.add_argument("--tls-server-name", metavar="NAME", help="host name expected in certificates")
    group.add_argument("--tls-insecure", action="store_true", help="do NOT verify servers")


def chosen_tls(given: argparse.Namespace, environment: Mapping[str, str]) -> TlsOptions | None:
    if not given.tls and not any(getattr(given, name) for name in _NAMES):
        return None
    return TlsOptions(
        ca_file=given.tls_ca,
        cert_file=given.tls_cert,
        key_file=given.tls_key,
        key_password=environment.get(PASSWORD_VARIABLE, ""),
        server_name=given.tls_server_name,
        verify=not given.tls_insecure,
    )
