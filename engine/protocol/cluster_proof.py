"""Proofs between brokers of one cluster: both know a secret, neither ever sends it.

A *peer* proof answers a challenge when a replication stream begins: HMAC-SHA256 over the role of the prover
and over everything that both sides said so far, two fresh nonces among it, so that no proof is good for
another stream, another member or the other direction. A *request* proof is a field of a single request over
its code, its other fields and its body; what it asks for must be harmless when it is repeated.
Comparisons take the same time whatever is compared.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping

from engine.protocol.signing import ACCESS_KEY, SECURITY_TOKEN, SIGNATURE

NONCE_BYTES = 16
MIN_SECRET_BYTES = 16
PROOF_FIELD = "signalboxProof"
_UNPROVED = frozenset({PROOF_FIELD, ACCESS_KEY, SIGNATURE, SECURITY_TOKEN})
"""A request may be signed too, by a user, after it was proved."""


def peer_proof(secret: bytes, role: str, *said: bytes) -> str:
    """`said`: what was exchanged, in order. Each part goes in with its length: no two rows look alike."""
    return _digest(secret, b"signalbox-peer", role.encode(), *said)


def request_proof(secret: bytes, code: int, fields: Mapping[str, str], body: bytes) -> str:
    parts = [part.encode() for key in sorted(fields) if key not in _UNPROVED for part in (key, fields[key])]
    return _digest(secret, b"signalbox-request", str(code).encode(), *parts, body)


def proves(given: str | None, wanted: str) -> bool:
    return given is not None and hmac.compare_digest(given.encode(), wanted.encode())


def _digest(secret: bytes, *parts: bytes) -> str:
    digest = hmac.new(secret, digestmod=hashlib.sha256)
    for part in parts:
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.hexdigest()
