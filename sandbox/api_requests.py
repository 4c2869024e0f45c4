"""Requests to the API server as one user, over connections that stay open.

Whoever waits asks every few tenths of a second: without a new connection for each question it takes a third of the
time of both.
"""

import http.client
import json
import ssl
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from sandbox.errors import SandboxError

_TIMEOUT_S: Final = 30.0


class ApiRequests:
    """What one user asks the API server; threads may ask at the same time.

    Args:
        address: of the API server.
        port: likewise.
        ca_file: who signed its certificate.
        token: of the user.
    """

    def __init__(self, address: str, port: int, ca_file: Path, token: str) -> None:
        self._server = (address, port)
        self._tls = ssl.create_default_context(cafile=str(ca_file))
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        self._idle: list[http.client.HTTPSConnection] = []  # its `append` and `pop` are safe among threads

    def document(
        self, method: str, path: str, document: Mapping[str, Any] | None = None, *, accepted: Sequence[int] = ()
    ) -> dict[str, Any]:
        """Return what the API server answers.

        Args:
            method: of HTTP.
            path: what is asked for.
            document: what is sent; None sends nothing.
            accepted: HTTP statuses, besides that of success, whose answers are returned too.

        Raises:
            SandboxError: it does not answer, or with an error; the message is what it said.
        """
        body = None if document is None else json.dumps(document)
        status, answer = self.answer(method, path, body, timeout_s=_TIMEOUT_S)
        if status not in {http.HTTPStatus.OK, http.HTTPStatus.CREATED, *accepted}:
            raise SandboxError(f"{method} {path}: {status or 'no answer'}: {answer.decode(errors='replace')}")
        answered: dict[str, Any] = json.loads(answer)
        return answered

    def answer(self, method: str, path: str, body: str | None = None, *, timeout_s: float) -> tuple[int, bytes]:
        """Return HTTP status and body of an answer; status 0, and why, when nobody answers.

        Args:
            method: of HTTP.
            path: what is asked for.
            body: what is sent; None sends nothing.
            timeout_s: of each step, in seconds.
        """
        if method == "GET" and self._idle:
            try:
                return self._exchange(self._idle.pop(), method, path, body, timeout_s)
            except (IndexError, ConnectionError, ssl.SSLError):
                pass  # another thread has it, or the API server has ended since: ask whoever is there now
            except (OSError, http.client.HTTPException) as error:
                return 0, str(error).encode()
        try:
            connection = http.client.HTTPSConnection(*self._server, timeout=timeout_s, context=self._tls)
            return self._exchange(connection, method, path, body, timeout_s)
        except (OSError, http.client.HTTPException) as error:
            return 0, str(error).encode()

    def close(self) -> None:
        """Close all connections; the next request opens one."""
        while self._idle:
            self._idle.pop().close()

    def _exchange(
        self, connection: http.client.HTTPSConnection, method: str, path: str, body: str | None, timeout_s: float
    ) -> tuple[int, bytes]:
        """Return status and body and keep the connection; one that fails is closed."""
        try:
            if connection.sock is not None:
                connection.sock.settimeout(timeout_s)
            connection.request(method, path, body, self._headers)
            response = connection.getresponse()
            answered = response.status, response.read()
        except BaseException:
            connection.close()
            raise
        self._idle.append(connection)
        return answered
