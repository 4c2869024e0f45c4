"""Sums of a release's files, and signatures that `cosign verify-blob` and `openssl dgst` check.

A key is an ECDSA key on the curve P-256, in PEM, as `openssl ecparam` makes it. Signatures follow RFC 6979: a file has
the same signature whenever it is signed.
"""

import base64
import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key

SUMS: Final = "SHA256SUMS"


class Signer:
    """Signs with a private key.

    Args:
        pem: the private key, not encrypted.

    Raises:
        ValueError: the text is no private key.
        TypeError: it is a key of another kind, or it is encrypted.
    """

    def __init__(self, pem: bytes) -> None:
        key = load_pem_private_key(pem, password=None)
        if not isinstance(key, ec.EllipticCurvePrivateKey) or not isinstance(key.curve, ec.SECP256R1):
            raise TypeError("the key is not one of ECDSA on the curve P-256, which cosign's blobs are signed with")
        self._key = key

    def signature(self, content: bytes) -> str:
        """Return the signature in base64, as `cosign sign-blob` prints it."""
        signed = self._key.sign(content, ec.ECDSA(SHA256(), deterministic_signing=True))
        return base64.b64encode(signed).decode()

    def public_key(self) -> str:
        """Return the public key in PEM."""
        public = self._key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        return public.decode()


def digest(path: Path) -> str:
    """Return a file's SHA-256 in hexadecimal digits."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def sums(files: Iterable[Path], folder: Path) -> str:
    """Return the lines that `sha256sum --check` reads, ordered by name.

    Args:
        files: what is listed, all of them below the folder.
        folder: where the list will be.
    """
    return "".join(f"{digest(path)}  {path.relative_to(folder)}\n" for path in sorted(files))
