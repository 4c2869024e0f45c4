"""The webhook's own certificate: an authority that only the API server trusts, and a server's certificate by it.

The authority lives long and stays when the server's certificate is renewed, so that replicas that serve the old one are
trusted meanwhile. When the authority itself is renewed, the old one stays in the bundle until it ends, for the same
reason.
"""

import contextlib
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

MOST_AUTHORITIES: Final = 8
"""In a bundle: the newest, and those before it that have not ended."""

_ANY_TIME: Final = ssl.VerifyFlags(0x200000)
"""OpenSSL's `X509_V_FLAG_NO_CHECK_TIME`, for which Python has no name."""

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
        extension = x509.load_pem_x509_certificate(self.server).extensions.get_extension_for_class(
            x509.SubjectAlternativeName
        )
        return {_general(name) for name in names} <= set(extension.value)

    def load_into(self, context: ssl.SSLContext) -> None:
        """Let a server show this certificate from its next connection on."""
        with tempfile.TemporaryDirectory() as folder:  # a context takes files only
            path = Path(folder) / "pair.pem"
            path.touch(mode=0o600)
            path.write_bytes(self.server + self.server_key)
            context.load_cert_chain(path)


class UnusableError(Exception):
    """What is stored is no certificate that a server could show; the message says why."""


def read(bundle: bytes, authority_key: bytes, server: bytes, server_key: bytes) -> Certificates:
    """Return what somebody stored, written as `renewed` writes it.

    Anybody who may write the Secret may have put anything there, and what is loaded must be what a server can show and
    the API server verifies: so it has to be of the kind that `renewed` makes, and is tried in a handshake.

    Raises:
        UnusableError: it is no such thing, or its parts do not belong together.
    """
    try:
        authorities, certificate = x509.load_pem_x509_certificates(bundle), x509.load_pem_x509_certificate(server)
        keys = _key(authority_key), _key(server_key)
    except Exception as error:  # whatever a parser says of what somebody else wrote
        raise UnusableError("a certificate or key in it is no PEM, or not of an elliptic curve") from error
    certificates = Certificates(
        b"".join(map(_pem, authorities)), _key_pem(keys[0]), _pem(certificate), _key_pem(keys[1])
    )
    try:
        _check(authorities, certificate, keys)
        _rehearse(certificates, certificate)
    except UnusableError:
        raise
    except Exception as error:  # whatever else a library says of it
        raise UnusableError(f"the certificate cannot be shown: {error}") from error
    return certificates


_Keys = tuple[ec.EllipticCurvePrivateKey, ec.EllipticCurvePrivateKey]


def _check(authorities: Sequence[x509.Certificate], server: x509.Certificate, keys: _Keys) -> None:
    """See that certificates are like those that `renewed` makes.

    Raises:
        UnusableError: they are not.
        Exception: they lack what those have, or were not issued by the first authority.
    """
    if len(authorities) > MOST_AUTHORITIES:
        raise UnusableError(f"ca.crt holds {len(authorities)} certificates; {MOST_AUTHORITIES} at most are in use")
    for name, certificate, key, life, signs in (
        ("ca", authorities[0], keys[0], AUTHORITY_LIFE, True),
        ("tls", server, keys[1], SERVER_LIFE, False),
    ):
        extensions = certificate.extensions
        can_sign = (
            extensions.get_extension_for_class(x509.BasicConstraints).value.ca,
            extensions.get_extension_for_class(x509.KeyUsage).value.key_cert_sign,
        )
        for is_wrong, why in (
            (not isinstance(key.curve, ec.SECP256R1), f"{name}.key is on the curve {key.curve.name}"),
            (key.public_key() != certificate.public_key(), f"{name}.key is not the key of {name}.crt"),
            (not _lasts(certificate, life + SKEW), f"{name}.crt is not good for {life.days} days at most"),
            (not isinstance(certificate.signature_hash_algorithm, hashes.SHA256), f"{name}.crt has no SHA-256"),
            (can_sign != (signs, signs), f"{name}.crt {'may not' if signs else 'may'} sign others"),
        ):
            if is_wrong:
                raise UnusableError(why)
        certificate.verify_directly_issued_by(authorities[0])


def _lasts(certificate: x509.Certificate, longest: timedelta) -> bool:
    return timedelta(0) < certificate.not_valid_after_utc - certificate.not_valid_before_utc <= longest


def _rehearse(certificates: Certificates, certificate: x509.Certificate) -> None:
    """Show a certificate to a client that trusts its bundle, in memory; whether its time has come is not asked here.

    Raises:
        Exception: the server cannot show it, or the client does not believe it.
    """
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    shows, trusts = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH), ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    trusts.load_verify_locations(cadata=certificates.bundle.decode())
    trusts.verify_flags |= _ANY_TIME
    certificates.load_into(shows)
    for name in names:
        there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
        ends = (
            trusts.wrap_bio(back, there, server_hostname=str(name.value)),
            shows.wrap_bio(there, back, server_side=True),
        )
        for end in 2 * ends:
            with contextlib.suppress(ssl.SSLWantReadError):
                end.do_handshake()
        ends[0].do_handshake()  # over by now, or it would want to read


def renewed(old: Certificates | None, names: Sequence[str], *, now: datetime, force: bool = False) -> Certificates:
    """Return certificates that are good for a while from `now`: the old ones where they are, else new ones.

    Args:
        old: what there is.
        names: host names and addresses under which the API server calls.
        now: the time.
        force: whether the server gets a new certificate in any case.
    """
    if old is None:
        authority, authority_key = _new_authority(now)
        bundle = authority
    else:
        bundle, authority_key = old.bundle, old.authority_key
        if _is_due(x509.load_pem_x509_certificates(bundle)[0], now):
            authority, authority_key = _new_authority(now)
            good = [
                certificate
                for certificate in x509.load_pem_x509_certificates(bundle)
                if certificate.not_valid_after_utc > now
            ]
            bundle = authority + b"".join(_pem(certificate) for certificate in good)
        elif not force and old.serves(names) and not _is_due(x509.load_pem_x509_certificate(old.server), now):
            return old
    server, server_key = _new_server(bundle, authority_key, names, now)
    return Certificates(bundle, authority_key, server, server_key)


def _is_due(certificate: x509.Certificate, now: datetime) -> bool:
    life = certificate.not_valid_after_utc - certificate.not_valid_before_utc
    return certificate.not_valid_after_utc - now < LEFT * life or certificate.not_valid_before_utc > now


def _new_authority(now: datetime) -> tuple[bytes, bytes]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = _name("heartbeat-tuner webhook authority")
    certificate = (
        _builder(name, name, key.public_key(), now, AUTHORITY_LIFE)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    return _pem(certificate), _key_pem(key)


def _new_server(bundle: bytes, authority_key: bytes, names: Sequence[str], now: datetime) -> tuple[bytes, bytes]:
    authority, signer = x509.load_pem_x509_certificates(bundle)[0], _key(authority_key)
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = (
        _builder(_name("heartbeat-tuner webhook"), authority.subject, key.public_key(), now, SERVER_LIFE)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName([_general(name) for name in names]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False)
        .sign(signer, hashes.SHA256())
    )
    return _pem(certificate), _key_pem(key)


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


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
