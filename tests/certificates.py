"""Certificates for tests, made when they run: an authority and what it signs, good or bad."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

LOOPBACK = ("localhost", "127.0.0.1")


@dataclass(frozen=True, slots=True)
class Issued:
    """Paths of a certificate and its key."""

    cert: str
    key: str


class Authority:
    """Signs certificates into a folder; `ca` is its own one."""

    def __init__(self, folder: Path, name: str = "authority") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _named(name)
        builder = _builder(self._name, self._name, self._key, days=30).add_extension(
            x509.BasicConstraints(ca=True, path_length=None), critical=True
        )
        self.ca = str(folder / f"{name}.pem")
        self._write_certificate(Path(self.ca), builder.sign(self._key, hashes.SHA256()))

    def issue(
        self, name: str, names: tuple[str, ...] = LOOPBACK, *, days: int = 30, password: str = ""
    ) -> Issued:
        """A certificate for these host names and addresses; with `days` below 0 it has expired."""
        key = ec.generate_private_key(ec.SECP256R1())
        builder = _builder(_named(name), self._name, key, days).add_extension(
            x509.SubjectAlternativeName([_subject(text) for text in names]), critical=False
        )
        issued = Issued(str(self._folder / f"{name}.pem"), str(self._folder / f"{name}.key"))
        self._write_certificate(Path(issued.cert), builder.sign(self._key, hashes.SHA256()))
        _write_key(Path(issued.key), key, password)
        return issued

    def _write_certificate(self, path: Path, certificate: x509.Certificate) -> None:
        _replace(path, certificate.public_bytes(serialization.Encoding.PEM))


def serial_of(der: bytes) -> int:
    return x509.load_der_x509_certificate(der).serial_number


def serial_in(path: str) -> int:
    return x509.load_pem_x509_certificate(Path(path).read_bytes()).serial_number


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, days: int
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=60))
        .not_valid_after(now + timedelta(days=days))
    )


def _named(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _subject(text: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(text))
    except ValueError:
        return x509.DNSName(text)


def _write_key(path: Path, key: ec.EllipticCurvePrivateKey, password: str) -> None:
    encryption: serialization.KeySerializationEncryption = serialization.NoEncryption()
    if password:
        encryption = serialization.BestAvailableEncryption(password.encode())
    _replace(
        path,
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption),
    )


def _replace(path: Path, data: bytes) -> None:
    """As tools that renew certificates do: the old file is there until the new one takes its name."""
    fresh = path.with_suffix(path.suffix + ".new")
    fresh.write_bytes(data)
    fresh.rename(path)
