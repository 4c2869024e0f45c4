"""The webhook's own certificate: an authority that only the API server trusts, and a server's certificate by it.

The authority lives long and stays when the server's certificate is renewed, so that replicas that serve the old one are
trusted meanwhile. When the authority itself is renewed, the old one stays in the bundle until it ends, for the same
reason.
"""

import dataclasses
import ssl
import tempfile
from collections.abc import Sequence
from datetime import datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

AUTHORITY_LIFE: Final = timedelta(days=3650)
SERVER_LIFE: Final = timedelta(days=90)
LEFT: Final = 1 / 3
"""The share of a life that is left when a new one is made."""

SKEW: Final = timedelta(hours=1)
"""How far the API server's clock may be behind ours."""


@dataclasses.dataclass(frozen=True, slots=True)
class Certificates:
    """All of it in PEM.

    Attributes:
        bundle: the authorities that are to be trusted, the newest first.
        authority_key: of the newest.
        server: the server's certificate.
        server_key: its key.
    """

    bundle: bytes
    authority_key: bytes
    server: bytes
    server_key: bytes

    @property
    def ends(self) -> datetime:
        """When the server's certificate ends."""
        return x509.load_pem_x509_certificate(self.server).not_valid_after_utc

    def serves(self, names: Sequence[str]) -> bool:
        """Whether the server's certificate is made out to all these names."""
        found = x509.load_pem_x509_certificate(self.server).extensions.get_extension_for_class(
            x509.SubjectAlternativeName
        )
        return {_general(name) for name in names} <= set(found.value)

    def load_into(self, context: ssl.SSLContext) -> None:
        """Let a server show this certificate from its next connection on."""
        with tempfile.TemporaryDirectory() as folder:  # a context takes files only
            path = Path(folder) / "pair.pem"
            path.touch(mode=0o600)
            path.write_bytes(self.server + self.server_key)
            context.load_cert_chain(path)


def read(bundle: bytes, authority_key: bytes, server: bytes, server_key: bytes) -> Certificates | None:
    """Return what somebody stored; None if it is no such thing, or its parts do not belong together."""
    found = Certificates(bundle, authority_key, server, server_key)
    try:
        authority, *_ = x509.load_pem_x509_certificates(bundle)
        one = x509.load_pem_x509_certificate(server)
        one.verify_directly_issued_by(authority)
        if (
            _key(authority_key).public_key() != authority.public_key()
            or _key(server_key).public_key() != one.public_key()
        ):
            return None
        found.serves(())
    except Exception:  # noqa: BLE001 - whatever a parser says of what somebody else wrote: it is not usable
        return None
    return found


def renewed(old: Certificates | None, names: Sequence[str], *, now: datetime) -> Certificates:
    """Return certificates that are good for a while from `now`: the old ones where they are, else new ones.

    Args:
        old: what there is.
        names: host names and addresses under which the API server calls.
        now: the time.
    """
    if old is None:
        authority, authority_key = _new_authority(now)
        bundle = authority
    else:
        bundle, authority_key = old.bundle, old.authority_key
        if _is_due(x509.load_pem_x509_certificates(bundle)[0], now):
            authority, authority_key = _new_authority(now)
            good = [one for one in x509.load_pem_x509_certificates(bundle) if one.not_valid_after_utc > now]
            bundle = authority + b"".join(_pem(one) for one in good)
        elif old.serves(names) and not _is_due(x509.load_pem_x509_certificate(old.server), now):
            return old
    server, server_key = _new_server(bundle, authority_key, names, now)
    return Certificates(bundle, authority_key, server, server_key)


def _is_due(one: x509.Certificate, now: datetime) -> bool:
    life = one.not_valid_after_utc - one.not_valid_before_utc
    return one.not_valid_after_utc - now < LEFT * life


def _new_authority(now: datetime) -> tuple[bytes, bytes]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = _name("heartbeat-tuner webhook authority")
    one = (
        _builder(name, name, key.public_key(), now, AUTHORITY_LIFE)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    return _pem(one), _key_pem(key)


def _new_server(bundle: bytes, authority_key: bytes, names: Sequence[str], now: datetime) -> tuple[bytes, bytes]:
    authority, signer = x509.load_pem_x509_certificates(bundle)[0], _key(authority_key)
    key = ec.generate_private_key(ec.SECP256R1())
    one = (
        _builder(_name("heartbeat-tuner webhook"), authority.subject, key.public_key(), now, SERVER_LIFE)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName([_general(name) for name in names]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False)
        .sign(signer, hashes.SHA256())
    )
    return _pem(one), _key_pem(key)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, now: datetime, life: timedelta
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - SKEW)
        .not_valid_after(now + life)
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _general(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _key(pem: bytes) -> ec.EllipticCurvePrivateKey:
    key = serialization.load_pem_private_key(pem, password=None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise TypeError("not a key of an elliptic curve")
    return key


def _pem(one: x509.Certificate) -> bytes:
    return one.public_bytes(serialization.Encoding.PEM)


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
