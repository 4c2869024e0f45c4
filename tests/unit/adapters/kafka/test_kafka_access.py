"""Mounted files: what is read of them, and what is told when they cannot be."""

import dataclasses
from pathlib import Path

import pytest

from heartbeat_tuner.adapters.kafka import kafka_access
from heartbeat_tuner.adapters.kafka.kafka_access import KafkaAccess
from heartbeat_tuner.domain.errors import ClusterUnreachableError


@pytest.fixture
def mount(tmp_path: Path) -> KafkaAccess:
    """Files as a Secret gives them, and the access that names them."""
    for name, content in (("user", "tuner\n"), ("password", " s3cret \r\n"), ("ca.crt", "PEM")):
        (tmp_path / name).write_bytes(content.encode())
    return KafkaAccess(
        "kafka:9093",
        security_protocol="SASL_SSL",
        mechanism="PLAIN",
        username=tmp_path / "user",
        password_file=tmp_path / "password",
        ca_file=tmp_path / "ca.crt",
    )


def test_a_line_break_at_the_end_is_no_part_of_a_secret(mount: KafkaAccess) -> None:
    """Editors put it there; white space may well be one."""
    keys = kafka_access.read("main", mount)
    assert keys.properties == {
        "bootstrap.servers": "kafka:9093",
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "tuner",
        "sasl.password": " s3cret ",
        "ssl.ca.location": str(mount.ca_file),
    }


def test_keys_differ_when_a_file_does(mount: KafkaAccess) -> None:
    """A certificate is known by its path to librdkafka, and by its contents to us."""
    before = kafka_access.read("main", mount)
    assert kafka_access.read("main", mount) == before
    assert mount.ca_file is not None
    mount.ca_file.write_text("another PEM")
    assert kafka_access.read("main", mount) != before


def test_keys_do_not_show_themselves(mount: KafkaAccess) -> None:
    """Whoever logs the object logs no secret."""
    assert "s3cret" not in repr(kafka_access.read("main", mount))


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"\n", "is empty"),
        (b"", "is empty"),
        (b"s3cret\xff", "is no text in UTF-8"),
        (b"s3\0cret", "holds a null character"),
    ],
)
def test_a_file_that_holds_no_secret_is_named(mount: KafkaAccess, content: bytes, sentence: str) -> None:
    """By its path, never by what it holds."""
    assert mount.password_file is not None
    mount.password_file.write_bytes(content)
    with pytest.raises(ClusterUnreachableError) as caught:
        kafka_access.read("main", mount)
    assert str(caught.value) == f"Kafka cluster main: {mount.password_file} {sentence}"
    assert caught.value.__suppress_context__ or caught.value.__context__ is None  # the decoder's error holds the bytes


@pytest.mark.parametrize(("name", "sentence"), [("gone", "No such file or directory"), ("", "Is a directory")])
def test_a_file_that_cannot_be_read_is_named(mount: KafkaAccess, tmp_path: Path, name: str, sentence: str) -> None:
    """With what the system says."""
    path = tmp_path / name
    with pytest.raises(ClusterUnreachableError) as caught:
        kafka_access.read("main", dataclasses.replace(mount, ca_file=path))
    assert str(caught.value) == f"Kafka cluster main: {path} cannot be read: {sentence}"
