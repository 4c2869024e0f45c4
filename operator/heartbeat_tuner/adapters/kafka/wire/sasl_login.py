"""Messages of SASL's mechanisms PLAIN and SCRAM (RFC 5802), as Kafka's brokers take them. Pure.

Kafka does not normalise names and passwords, so neither is done here.
"""

import base64
import hashlib
import hmac
from typing import Final

FEWEST_ITERATIONS: Final = 4_096
MOST_ITERATIONS: Final = 1_000_000
"""The broker says how often the password is hashed: fewer times make it easy to guess, more cost us our time. Kafka
itself takes 4,096 to 16,384."""

_MOST_MESSAGE: Final = 8_192


class LoginRefusedError(Exception):
    """What a broker says when somebody logs in is not what the mechanism allows."""


def plain(username: str, password: str) -> bytes:
    """Return the only message of PLAIN."""
    return f"\0{username}\0{password}".encode()


class ScramLogin:
    """One login by SCRAM.

    Args:
        mechanism: `SCRAM-SHA-256` or `SCRAM-SHA-512`.
        username: who logs in.
        password: of the user.
        nonce: letters that were never used before.
    """

    def __init__(self, mechanism: str, username: str, password: str, nonce: str) -> None:
        self._digest = mechanism.removeprefix("SCRAM-").replace("-", "").lower()
        self._password = password.encode()
        self._nonce = nonce
        name = username.replace("=", "=3D").replace(",", "=2C")
        self._first_bare = f"n={name},r={nonce}"
        self._signature = b""

    @property
    def first(self) -> bytes:
        """The first message."""
        return f"n,,{self._first_bare}".encode()

    def final(self, answer: bytes) -> bytes:
        """Return the second message, which proves that the password is known.

        Args:
            answer: to the first one.

        Raises:
            LoginRefusedError: it is no such answer, or asks for more work than is done.
        """
        fields = _fields(answer)
        try:
            nonce, salt, iterations = fields["r"], base64.b64decode(fields["s"], validate=True), int(fields["i"])
        except (KeyError, ValueError):
            raise LoginRefusedError("an answer without nonce, salt or iterations") from None
        if not nonce.startswith(self._nonce) or len(nonce) == len(self._nonce):
            raise LoginRefusedError("an answer to another login")
        if not FEWEST_ITERATIONS <= iterations <= MOST_ITERATIONS:
            raise LoginRefusedError(f"{iterations} iterations, and {FEWEST_ITERATIONS} to {MOST_ITERATIONS} are done")
        salted = hashlib.pbkdf2_hmac(self._digest, self._password, salt, iterations)
        bare = f"c={base64.b64encode(b'n,,').decode()},r={nonce}"
        signed = f"{self._first_bare},{answer.decode()},{bare}".encode()
        client_key = self._hmac(salted, b"Client Key")
        signature = self._hmac(hashlib.new(self._digest, client_key).digest(), signed)
        proof = bytes(ours ^ theirs for ours, theirs in zip(client_key, signature, strict=True))
        self._signature = self._hmac(self._hmac(salted, b"Server Key"), signed)
        return f"{bare},p={base64.b64encode(proof).decode()}".encode()

    def check(self, answer: bytes) -> None:
        """Check the broker's last message: it proves that it knows the password, too.

        Raises:
            LoginRefusedError: it does not.
        """
        shown = _fields(answer).get("v", "")
        if not hmac.compare_digest(shown.encode(), base64.b64encode(self._signature)):
            raise LoginRefusedError("the broker does not prove that it knows the password")

    def _hmac(self, key: bytes, message: bytes) -> bytes:
        return hmac.new(key, message, self._digest).digest()


def _fields(message: bytes) -> dict[str, str]:
    """Return a message's fields by their letters."""
    if len(message) > _MOST_MESSAGE:
        raise LoginRefusedError(f"a message of {len(message)} bytes")
    try:
        parts = message.decode().split(",")
    except UnicodeDecodeError:
        raise LoginRefusedError("a message that is not UTF-8") from None
    return {part[0]: part[2:] for part in parts if part[1:2] == "="}
