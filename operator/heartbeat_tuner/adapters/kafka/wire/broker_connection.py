"""A connection to one broker: TLS, SASL, and one request after the other until a time that is set at the beginning."""

import contextlib
import secrets
import socket
import ssl
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Final, Self, TypeVar

from heartbeat_tuner.adapters.kafka.wire import sasl_login, wire_format, wire_messages
from heartbeat_tuner.adapters.kafka.wire.sasl_login import LoginRefusedError, ScramLogin
from heartbeat_tuner.adapters.kafka.wire.wire_format import MalformedAnswerError
from heartbeat_tuner.adapters.kafka.wire.wire_messages import WireRequest

_PIECE: Final = 65_536
_SHOWN: Final = 300
_Answer = TypeVar("_Answer")


class NotAnsweredError(Exception):
    """A broker did not answer, in time or with what was asked; its text says why, and holds no secret."""


class UnreadableAnswerError(NotAnsweredError):
    """A broker did answer, but with what is not read: malformed, or larger than is allowed."""


class BrokerConnection:
    """One connection; a context manager, which closes it.

    Args:
        address: host and port.
        properties: librdkafka's, as `kafka_access.Keys` has them.
        until_s: when everything has to be done, by the monotonic clock; `allow_until` sets another time.

    Raises:
        NotAnsweredError: the broker is not reached in time, or does not let us in.
    """

    def __init__(self, address: tuple[str, int], properties: Mapping[str, str], *, until_s: float) -> None:
        self._until_s = until_s
        self._asked = 0
        protocol = properties["security.protocol"]
        try:
            self._socket = socket.create_connection(address, timeout=self._left_s())
        except OSError as error:
            raise NotAnsweredError(_shown(error)) from error
        try:
            if protocol.endswith("SSL"):
                self._socket = _context(properties).wrap_socket(self._socket, server_hostname=address[0])
            if protocol.startswith("SASL"):
                self._log_in(properties)
        except NotAnsweredError:
            self.close()
            raise
        except (OSError, LoginRefusedError) as error:
            self.close()
            raise NotAnsweredError(_shown(error)) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the connection."""
        with contextlib.suppress(OSError):
            self._socket.close()

    def allow_until(self, until_s: float) -> None:
        """Set when everything has to be done, by the monotonic clock."""
        self._until_s = until_s

    def ask(self, request: WireRequest[_Answer]) -> _Answer:
        """Send a request, and return what the answer says.

        Raises:
            UnreadableAnswerError: there is an answer, but none to this request, or a larger one than is read.
            NotAnsweredError: there is no answer in time.
        """
        self._asked += 1
        content = request.framed(self._asked)
        try:
            self._socket.settimeout(self._left_s())
            self._socket.sendall(wire_format.number(len(content), 4) + content)
            size = int.from_bytes(self._received(4), "big", signed=True)
            if not 0 < size <= wire_format.MOST_BYTES:
                raise UnreadableAnswerError(f"an answer of {size} bytes, where 1 to {wire_format.MOST_BYTES} are read")
            return request.answer(self._received(size), self._asked)
        except MalformedAnswerError as error:
            raise UnreadableAnswerError(_shown(error)) from error
        except OSError as error:
            raise NotAnsweredError(_shown(error)) from error

    def _received(self, size: int) -> bytes:
        """Return so many bytes: memory is used for what has come, and not for what is announced."""
        content = bytearray()
        while len(content) < size:
            self._socket.settimeout(self._left_s())
            piece = self._socket.recv(min(_PIECE, size - len(content)))
            if not piece:
                raise NotAnsweredError("the broker closed the connection")
            content += piece
        return bytes(content)

    def _left_s(self) -> float:
        left_s = self._until_s - time.monotonic()
        if left_s <= 0:
            raise NotAnsweredError("timed out")
        return left_s

    def _log_in(self, properties: Mapping[str, str]) -> None:
        mechanism = properties["sasl.mechanism"]
        username, password = properties["sasl.username"], properties["sasl.password"]
        error = self.ask(wire_messages.sasl_handshake(mechanism))
        if error:
            raise NotAnsweredError(f"the broker does not take SASL's {mechanism} (error {error})")
        if mechanism == "PLAIN":
            self._authenticate(sasl_login.plain(username, password))
            return
        login = ScramLogin(mechanism, username, password, secrets.token_urlsafe(24))
        login.check(self._authenticate(login.final(self._authenticate(login.first))))

    def _authenticate(self, content: bytes) -> bytes:
        answer = self.ask(wire_messages.sasl_authenticate(content))
        if answer.error:
            raise NotAnsweredError(answer.message[:_SHOWN] or f"login failed (error {answer.error})")
        return answer.content


def first_answer(properties: Mapping[str, str], request: WireRequest[_Answer], *, until_s: float) -> _Answer:
    """Return what the first broker says that answers, of those that are named.

    Args:
        properties: how the cluster is reached, librdkafka's.
        request: one that each broker can answer.
        until_s: when it has to be done, by the monotonic clock.

    Raises:
        NotAnsweredError: none does.
    """
    silence = NotAnsweredError("no broker is named")
    for server in properties["bootstrap.servers"].split(","):
        host, _, port = server.rpartition(":")
        try:
            with BrokerConnection((host.strip("[]"), int(port)), properties, until_s=until_s) as connection:
                return connection.ask(request)
        except NotAnsweredError as error:
            silence = error
    raise silence


def _context(properties: Mapping[str, str]) -> ssl.SSLContext:
    """Return whom to trust and what to show: host names are checked, as librdkafka does."""
    context = ssl.create_default_context(cafile=properties.get("ssl.ca.location"))
    certificate = properties.get("ssl.certificate.location")
    if certificate is not None:
        # Without a password OpenSSL would ask for one at the terminal.
        password = properties.get("ssl.key.password", "")
        context.load_cert_chain(certificate, properties.get("ssl.key.location"), lambda: password)
    return context


def _shown(error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {error.verify_message}"
    if isinstance(error, TimeoutError):
        return "timed out"
    text = error.strerror if isinstance(error, OSError) else str(error)
    return (text or type(error).__name__)[:_SHOWN]
