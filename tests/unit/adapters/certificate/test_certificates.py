"""Certificates: made, renewed in time, and trusted meanwhile."""

import dataclasses
import ssl
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519

from heartbeat_tuner.adapters.certificate import certificates
from heartbeat_tuner.adapters.certificate.certificates import AUTHORITY_LIFE, SERVER_LIFE, Certificates, UnusableError
from tests.support import certified

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
NAMES = ("heartbeat-tuner-webhook.heartbeat-tuner.svc", "127.0.0.1", "::1")


def _stored(parts: Certificates) -> Certificates | None:
    try:
        return certificates.read(parts.bundle, parts.authority_key, parts.server, parts.server_key)
    except UnusableError:
        return None


def test_what_is_made_is_read_again_and_good_for_a_while() -> None:
    """Under all its names; one that is good is not made again."""
    made = certificates.renewed(None, NAMES, now=NOW)
    assert _stored(made) == made
    assert made.serves(NAMES)
    assert not made.serves(["elsewhere"])
    assert made.ends == NOW + SERVER_LIFE
    assert certificates.renewed(made, NAMES, now=NOW + SERVER_LIFE / 2) == made
    assert ssl.create_default_context(cadata=made.bundle.decode())


def test_the_server_s_is_renewed_when_a_third_is_left_and_its_authority_stays() -> None:
    """Who shows the old one is trusted by the same bundle."""
    made = certificates.renewed(None, NAMES, now=NOW)
    later = certificates.renewed(made, NAMES, now=NOW + 0.7 * SERVER_LIFE)
    assert (later.bundle, later.authority_key) == (made.bundle, made.authority_key)
    assert later.server != made.server
    assert _stored(later) == later


def test_a_new_name_needs_a_new_certificate() -> None:
    """The Service was called otherwise."""
    made = certificates.renewed(None, NAMES, now=NOW)
    other = certificates.renewed(made, ["other.svc"], now=NOW)
    assert other.serves(["other.svc"])
    assert other.bundle == made.bundle


def test_an_authority_is_renewed_beside_the_old_one_until_that_ends() -> None:
    """Both are trusted meanwhile."""
    made = certificates.renewed(None, NAMES, now=NOW)
    later = certificates.renewed(made, NAMES, now=NOW + 0.7 * AUTHORITY_LIFE)
    new, old = x509.load_pem_x509_certificates(later.bundle)
    assert [old] == x509.load_pem_x509_certificates(made.bundle)
    assert later.authority_key != made.authority_key
    x509.load_pem_x509_certificate(later.server).verify_directly_issued_by(new)
    last = certificates.renewed(later, NAMES, now=NOW + 1.6 * AUTHORITY_LIFE)
    assert old not in x509.load_pem_x509_certificates(last.bundle)


@pytest.mark.parametrize("field", ["bundle", "authority_key", "server", "server_key"])
@pytest.mark.parametrize("junk", [b"", b"junk"])
def test_what_somebody_edited_is_none(field: str, junk: bytes) -> None:
    """It is made again then."""
    made = certified.fresh()
    assert _stored(dataclasses.replace(made, **{field: junk})) is None


def test_parts_that_do_not_belong_together_are_none() -> None:
    """Each by itself is good."""
    first, second = certified.fresh(), certified.fresh()
    for field in ("bundle", "authority_key", "server", "server_key"):
        assert _stored(dataclasses.replace(first, **{field: getattr(second, field)})) is None
    other_kind = ed25519.Ed25519PrivateKey.generate().private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    assert _stored(dataclasses.replace(first, server_key=other_kind)) is None


def test_a_clock_that_is_a_little_behind_trusts_it() -> None:
    """The API server's."""
    certificate = x509.load_pem_x509_certificate(certificates.renewed(None, NAMES, now=NOW).server)
    assert certificate.not_valid_before_utc < NOW - timedelta(minutes=30)
