"""How a request or a broker proves who sends it: RocketMQ's signature, and proofs of the cluster's secret.

**Signatures** are the same for ACL 1.0 and 2.0. The client adds `AccessKey` (and `SecurityToken`, if it has
one) to the extFields, then `Signature`:

    content   = the values of all extFields but Signature, by the order of their names, as UTF-8; the body
    Signature = base64(HMAC-SHA1(secret key, content))

What this proves and what not: the values and the body are the sender's; the code, the flag and the opaque are
not covered, nor is where one value ends and the next begins, and nothing makes a request fresh. RocketMQ's
clients are as they are; TLS closes these gaps (docs/adr/0010).

**Proofs** are between brokers of one cluster: both know a secret, neither ever sends it. A *peer* proof
answers a challenge when a replication stream begins: HMAC-SHA256 over the role of the prover and over
everything that both sides said so far, two fresh nonces among it, so that no proof is good for another
stream, another member or the other direction. A *request* proof is a field of a single request over its code,
its other fields and its body; what it asks for must be harmless when it is repeated. Comparisons take the
same time whatever is compared. Pure; safe from any thread.
"""

from __future__ import annotations

import hashlib
import hmac
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.errors import BadInput
from engine.protocol.commands import Buffer, Command

NONCE_BYTES = 16
ACCESS_KEY = "AccessKey"
SIGNATURE = "Signature"
SECURITY_TOKEN = "SecurityToken"
UNIQUE_KEY_QUERY = "_UNIQUE_KEY_QUERY"
SIGNED_UNIQUE_KEY_QUERY_ABOVE = 399
"""Up to V4_9_3 clients added this one field behind the signature; from then on it is signed too."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """Who we are, and what proves it. The secret is in no repr."""

    access_key: str
    secret_key: str = field(repr=False)
    security_token: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not self.access_key or not self.secret_key:
            raise BadInput("credentials need an access key and a secret key")


def signed_content(fields: Mapping[str, str], version: int, body: Buffer) -> bytes:
    """What a signature of this request covers."""
    names = sorted(fields) if "".join(fields).isascii() else sorted(fields, key=_java_order)
    values = [fields[name] for name in names if name != SIGNATURE]
    if UNIQUE_KEY_QUERY in fields and version <= SIGNED_UNIQUE_KEY_QUERY_ABOVE:
        values = [fields[name] for name in names if name not in (SIGNATURE, UNIQUE_KEY_QUERY)]
    return b"".join(("".join(values).encode("utf-8", "replace"), body))


def _java_order(name: str) -> bytes:
    """Java compares UTF-16 units, Python code points: they part above the surrogates."""
    return name.encode("utf-16-be", "surrogatepass")


def signature_of(content: bytes, secret_key: bytes) -> bytes:
    return b64encode(hmac.digest(secret_key, content, "sha1"))


def is_signed_with(secret_key: bytes, fields: Mapping[str, str], version: int, body: Buffer) -> bool:
    """Whether the signature is this secret's. Takes as long for a wrong one as for a right one."""
    given = fields.get(SIGNATURE, "")
    wanted = signature_of(signed_content(fields, version, body), secret_key)
    return hmac.compare_digest(given.encode("utf-8", "replace"), wanted)


def sign(command: Command, credentials: Credentials) -> None:
    """Put our name and signature into the request; signing again replaces what was there."""
    fields = command.fields
    fields[ACCESS_KEY] = credentials.access_key
    if credentials.security_token is not None:
        fields[SECURITY_TOKEN] = credentials.security_token
    content = signed_content(fields, command.version, command.body)
    fields[SIGNATURE] = signature_of(content, credentials.secret_key.encode()).decode()


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
