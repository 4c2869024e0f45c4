"""Locked doors to the sandbox's broker: listeners with TLS and SASL, an authorizer, and the keys to them.

`Doors.create` makes certificates in a folder and says what the broker's configuration gets for them. The plain listener
stays open, and who enters there is the broker's super user, so that the sandbox's own requests need no key. What a
client needs stands in `Doors` as paths, as a Secret would be mounted.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, Self

import trustme
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from sandbox import network

TLS: Final = "TLS"
"""The listener that wants a client's certificate."""

SASL_TLS: Final = "SASLTLS"
"""The listener that wants a password, behind TLS."""

SASL_CLEAR: Final = "SASLCLEAR"
"""The listener that wants a password in the clear."""

MISNAMED: Final = "MISNAMED"
"""A TLS listener whose certificate is another host's."""

EXPIRED: Final = "EXPIRED"
"""A TLS listener whose certificate has ended."""

KEY_PASSWORD: Final = "sandbox-key-password"  # noqa: S105 - of a key that lives as long as a run

_ORGANISATION: Final = "heartbeat-tuner sandbox"
_SCRAM_LOGIN: Final = "org.apache.kafka.common.security.scram.ScramLoginModule required;"

AUTHORIZER: Final[Mapping[str, str]] = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",  # who comes by the plain listener, and the broker itself
}
"""Broker properties that refuse everything that no ACL allows."""


@dataclass(frozen=True)
class Listener:
    """One more listener of a broker.

    Attributes:
        name: upper-case letters.
        protocol: `SSL`, `SASL_SSL` or `SASL_PLAINTEXT`.
        properties: broker properties of this listener alone, without the prefix that says so.
    """

    name: str
    protocol: str
    properties: Mapping[str, str]


@dataclass(frozen=True)
class Doors:
    """The listeners, and paths of PEM files for clients.

    Attributes:
        listeners: what a `sandbox.kafka.Kafka` is given.
        ca: whom to trust.
        other_ca: whom not to.
        client_cert: of `client_principal`.
        client_key: its key, in the clear.
        locked_key: the same key, encrypted with `KEY_PASSWORD`.
        other_key: a key that belongs to no certificate here.
        client_principal: how ACLs call who shows that certificate.
    """

    listeners: tuple[Listener, ...]
    ca: Path
    other_ca: Path
    client_cert: Path
    client_key: Path
    locked_key: Path
    other_key: Path
    client_principal: str

    @classmethod
    def create(cls, folder: Path, *, plain_users: Mapping[str, str]) -> Self:
        """Make everything in `folder`.

        Args:
            folder: created if need be.
            plain_users: passwords by user name for the mechanism PLAIN; SCRAM users are made on the running broker.
        """
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        authority, stranger = trustme.CA(organization_name=_ORGANISATION), trustme.CA(organization_name="somebody else")
        paths = {
            name: folder / name for name in ("ca.crt", "other-ca.crt", "tls.crt", "tls.key", "locked.key", "other.key")
        }
        authority.cert_pem.write_to_path(str(paths["ca.crt"]))
        stranger.cert_pem.write_to_path(str(paths["other-ca.crt"]))
        client = authority.issue_cert(
            "heartbeat-tuner.example",
            common_name="heartbeat-tuner",
            organization_name=_ORGANISATION,
            organization_unit_name="clients",
        )
        client.cert_chain_pems[0].write_to_path(str(paths["tls.crt"]))
        paths["tls.key"].write_bytes(_pkcs8(client, NoEncryption()))
        paths["locked.key"].write_bytes(_pkcs8(client, BestAvailableEncryption(KEY_PASSWORD.encode())))
        paths["other.key"].write_bytes(_pkcs8(stranger.issue_cert("elsewhere.example"), NoEncryption()))
        yesterday = datetime.now(tz=UTC) - timedelta(days=1)
        good, misnamed, expired = (
            _keystore(folder / f"{name}.pem", certificate, trusted=paths["ca.crt"])
            for name, certificate in (
                ("server", authority.issue_cert(network.LOOPBACK)),
                ("misnamed", authority.issue_cert("elsewhere.example")),
                ("expired", authority.issue_cert(network.LOOPBACK, not_after=yesterday)),
            )
        )
        sasl = _sasl(plain_users)
        return cls(
            listeners=(
                Listener(TLS, "SSL", good | {"ssl.client.auth": "required"}),
                Listener(SASL_TLS, "SASL_SSL", good | sasl),
                Listener(SASL_CLEAR, "SASL_PLAINTEXT", sasl),
                Listener(MISNAMED, "SSL", misnamed),
                Listener(EXPIRED, "SSL", expired),
            ),
            ca=paths["ca.crt"],
            other_ca=paths["other-ca.crt"],
            client_cert=paths["tls.crt"],
            client_key=paths["tls.key"],
            locked_key=paths["locked.key"],
            other_key=paths["other.key"],
            client_principal=f"User:CN=heartbeat-tuner,OU=clients,O={_ORGANISATION}",
        )


def _sasl(plain_users: Mapping[str, str]) -> dict[str, str]:
    """Return what makes a listener ask for a password, by any of three mechanisms."""
    users = " ".join(f'user_{name}="{password}"' for name, password in plain_users.items())
    return {
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
        "plain.sasl.jaas.config": f"org.apache.kafka.common.security.plain.PlainLoginModule required {users};",
        "scram-sha-256.sasl.jaas.config": _SCRAM_LOGIN,
        "scram-sha-512.sasl.jaas.config": _SCRAM_LOGIN,
    }


def _keystore(path: Path, certificate: trustme.LeafCert, *, trusted: Path) -> dict[str, str]:
    """Write a certificate and its key into one file, and return what makes a listener show it."""
    chain = b"".join(chain_pem.bytes() for chain_pem in certificate.cert_chain_pems)
    path.write_bytes(_pkcs8(certificate, NoEncryption()) + chain)
    return {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(path),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(trusted),
    }


def _pkcs8(certificate: trustme.LeafCert, encryption: KeySerializationEncryption) -> bytes:
    """Return a certificate's key as Kafka wants it: the JDK reads no older form."""
    key = load_pem_private_key(certificate.private_key_pem.bytes(), password=None)
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption)
