"""A store of certificates loses its times and nothing else."""

import struct

import pytest

from release.java_certificates import HEAD, PASSWORD, digest, timeless


def _text(text: str) -> bytes:
    return struct.pack(">H", len(text)) + text.encode()


def _entry(name: str, certificate: bytes, added_ms: int, tag: int = 2) -> bytes:
    length = struct.pack(">I", len(certificate))
    return struct.pack(">I", tag) + _text(name) + struct.pack(">Q", added_ms) + _text("X.509") + length + certificate


def _store(*entries: bytes, version: int = 2, password: str = PASSWORD) -> bytes:
    content = HEAD.pack(0xFEEDFEED, version, len(entries)) + b"".join(entries)
    return content + digest(content, password)


def test_stores_made_on_two_days_are_the_same() -> None:
    """Whatever order they were added in; what the certificates say stays."""
    today = _store(_entry("debian:a.pem", b"first", 1), _entry("debian:b.pem", b"second", 2))
    tomorrow = _store(_entry("debian:b.pem", b"second", 86_400_000), _entry("debian:a.pem", b"first", 86_400_001))
    expected = _store(_entry("debian:a.pem", b"first", 0), _entry("debian:b.pem", b"second", 0))
    assert timeless(today) == timeless(tomorrow) == expected


@pytest.mark.parametrize(
    ("store", "said"),
    [
        (b"", "not a JKS store"),
        (b"PK12" * 20, "not a JKS store"),
        (_store(_entry("a", b"c", 1), password="another"), "with this password"),  # noqa: S106 - no secret
        (_store(_entry("a", b"c", 1), version=1), "version 2"),
        (_store(_entry("a", b"c", 1, tag=1)), "holds keys"),
    ],
)
def test_another_file_is_refused(store: bytes, said: str) -> None:
    """The image is not built then: it would have no certificates, or a store that no Java reads."""
    with pytest.raises(ValueError, match=said):
        timeless(store)
