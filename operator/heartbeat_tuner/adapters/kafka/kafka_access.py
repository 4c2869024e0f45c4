"""How a Kafka cluster is reached, and the mounted files that this takes.

The configuration names files, never secrets; a Secret's mount changes when the Secret does. So the files are read
before each look at the cluster, and who sees other contents than last time makes a new client.
"""

import dataclasses
from pathlib import Path

from heartbeat_tuner.domain.errors import ClusterUnreachableError


@dataclasses.dataclass(frozen=True, slots=True)
class KafkaAccess:
    """One cluster, as the operator's configuration describes it.

    Attributes:
        bootstrap_servers: `host:port`, more of them with commas between.
        security_protocol: Kafka's `security.protocol`.
        mechanism: Kafka's `sasl.mechanism`; None without SASL.
        username: itself, or the file that holds it.
        password_file: holds the password.
        ca_file: PEM certificates of the authorities to trust; None means those of the system.
        cert_file: PEM certificate, and its chain, that is shown to brokers.
        key_file: its PEM key.
        key_password_file: holds the password of the key.
        alters_groups: whether values may be written into groups' configurations.
    """

    bootstrap_servers: str
    security_protocol: str = "PLAINTEXT"
    mechanism: str | None = None
    username: str | Path | None = None
    password_file: Path | None = None
    ca_file: Path | None = None
    cert_file: Path | None = None
    key_file: Path | None = None
    key_password_file: Path | None = None
    alters_groups: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Keys:
    """What the files of an `KafkaAccess` held at one moment; two are equal if nothing changed.

    Attributes:
        properties: librdkafka's, secrets among them: not for logs, and left out of this object's text.
        certificates: the contents of the files that librdkafka reads by itself.
    """

    properties: dict[str, str] = dataclasses.field(repr=False)
    certificates: tuple[bytes, ...] = dataclasses.field(repr=False)


def read(cluster: str, access: KafkaAccess) -> Keys:
    """Read the files.

    Raises:
        ClusterUnreachableError: one of them is gone, unreadable, empty or no text.
    """
    properties = {"bootstrap.servers": access.bootstrap_servers, "security.protocol": access.security_protocol}
    if access.mechanism is not None:
        properties["sasl.mechanism"] = access.mechanism
    if access.username is not None:
        user = access.username
        properties["sasl.username"] = user if isinstance(user, str) else _text(cluster, user)
    for name, secret in (("sasl.password", access.password_file), ("ssl.key.password", access.key_password_file)):
        if secret is not None:
            properties[name] = _text(cluster, secret)
    # By path and not by content: of a certificate given as text librdkafka would show no chain.
    paths = {
        name: path
        for name, path in (
            ("ssl.ca.location", access.ca_file),
            ("ssl.certificate.location", access.cert_file),
            ("ssl.key.location", access.key_file),
        )
        if path is not None
    }
    certificates = tuple(_content(cluster, path) for path in paths.values())
    return Keys(properties | {name: str(path) for name, path in paths.items()}, certificates)


def _text(cluster: str, path: Path) -> str:
    """Return a file's text without the line break that editors put at its end."""
    try:
        text = _content(cluster, path).decode()
    except UnicodeDecodeError:
        raise ClusterUnreachableError(f"Kafka cluster {cluster}: {path} is no text in UTF-8") from None  # it holds one
    if "\0" in text:
        raise ClusterUnreachableError(f"Kafka cluster {cluster}: {path} holds a null character")
    return text.removesuffix("\n").removesuffix("\r")


def _content(cluster: str, path: Path) -> bytes:
    try:
        content = path.read_bytes()
    except OSError as error:
        sentence = f"Kafka cluster {cluster}: {path} cannot be read: {error.strerror}"
        raise ClusterUnreachableError(sentence) from error
    if not content.strip():
        raise ClusterUnreachableError(f"Kafka cluster {cluster}: {path} is empty")
    return content
