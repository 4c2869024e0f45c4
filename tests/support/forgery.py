"""Certificates as somebody makes them who may write the webhook's Secret: good PEM, and of no use."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from ipaddress import ip_address
from typing import Any, Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from heartbeat_tuner.adapters.certificate.certificates import Certificates
from sandbox.network import LOOPBACK
from tests.support import certified

_CURVE: Final = ec.SECP256R1()
_DIGEST: Final = hashes.SHA256()

Digest = hashes.SHA256 | hashes.SHA512


def _pem(key: Any) -> bytes:
    kind = serialization.PrivateFormat.PKCS8
    found: bytes = key.private_bytes(serialization.Encoding.PEM, kind, serialization.NoEncryption())
    return found


def _certificate(
    *, key: Any, issuer: Any, ca: bool, signs: bool, days: int, digest: Digest, named: bool, usage: Any
) -> bytes:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "authority" if key is issuer else "server")])
    by = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "authority")])
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(by)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=5))
        .not_valid_after(now + timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer.public_key()), critical=False)
        .add_extension(
            x509.KeyUsage(
                digital_signature=not signs,
                key_cert_sign=signs,
                crl_sign=signs,
                **dict.fromkeys(
                    (
                        "content_commitment",
                        "key_encipherment",
                        "data_encipherment",
                        "key_agreement",
                        "encipher_only",
                        "decipher_only",
                    ),
                    False,
                ),
            ),
            critical=True,
        )
    )
    if key is not issuer:
        builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
    if named:
        builder = builder.add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ip_address(LOOPBACK))]), critical=False
        )
    return builder.sign(issuer, digest).public_bytes(serialization.Encoding.PEM)


def forged(  # noqa: PLR0913 - one thing at a time is wrong
    *,
    curve: ec.EllipticCurve = _CURVE,
    server_key: Any = None,
    authority_is_ca: bool = True,
    authority_signs: bool = True,
    server_is_ca: bool = False,
    authority_days: int = 3650,
    server_days: int = 90,
    digest: Digest = _DIGEST,
    named: bool = True,
    usage: Any = ExtendedKeyUsageOID.SERVER_AUTH,
) -> Certificates:
    """Return certificates in which some things are not as they should be; all is as it should be by default."""
    authority, server = ec.generate_private_key(curve), server_key or ec.generate_private_key(curve)
    common = {"issuer": authority, "digest": digest, "usage": usage}
    return Certificates(
        _certificate(
            key=authority, ca=authority_is_ca, signs=authority_signs, days=authority_days, named=False, **common
        ),
        _pem(authority),
        _certificate(key=server, ca=server_is_ca, signs=server_is_ca, days=server_days, named=named, **common),
        _pem(server),
    )


def _mismatched() -> Certificates:
    first, second = certified.fresh(), certified.fresh()
    return Certificates(first.bundle, first.authority_key, first.server, second.server_key)


def _crowded() -> Certificates:
    made = certified.fresh()
    return Certificates(made.bundle * 20, made.authority_key, made.server, made.server_key)


def _garbage() -> Certificates:
    return Certificates(b"\x00\xff", b"-----BEGIN PRIVATE KEY-----\n", b"", b"x" * 1000)


FORGERIES: Final[Mapping[str, Callable[[], Certificates]]] = {
    "curve": partial(forged, curve=ec.SECP521R1()),
    "odd-curve": partial(forged, curve=ec.SECP256K1()),
    "rsa": lambda: forged(server_key=rsa.generate_private_key(65537, 2048)),
    "authority-is-none": partial(forged, authority_is_ca=False),
    "authority-signs-nothing": partial(forged, authority_signs=False),
    "server-is-authority": partial(forged, server_is_ca=True),
    "authority-for-ever": partial(forged, authority_days=100_000),
    "server-for-ever": partial(forged, server_days=3650),
    "digest": partial(forged, digest=hashes.SHA512()),
    "no-name": partial(forged, named=False),
    "usage": partial(forged, usage=ExtendedKeyUsageOID.CLIENT_AUTH),
    "mismatched-key": _mismatched,
    "crowd": _crowded,
    "garbage": _garbage,
}
