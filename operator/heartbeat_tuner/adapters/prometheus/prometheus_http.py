"""One request to Prometheus, through prometheus-api-client with its gaps closed.

Parameters go as a form body (a URL has length limits), credentials are read again, no redirect is followed, and the
answer is read piece by piece: no more of it than `max_bytes`, and for no longer than somebody waits for it.
"""

import contextlib
import dataclasses
import socket
import threading
import zlib
from collections.abc import Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

import requests
import urllib3
from prometheus_api_client import PrometheusConnect
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection

from heartbeat_tuner.adapters.prometheus.prometheus_access import Credentials, PrometheusAccess
from heartbeat_tuner.adapters.prometheus.prometheus_failures import Failure, SettingsFix, of_transport
from heartbeat_tuner.domain.errors import MetricsCause

Form = Sequence[tuple[str, str]]
"""The parameters of a request; a name may come more than once."""

PIECE_BYTES: Final = 64 * 1024

ERROR_BYTES: Final = 64 * 1024
"""How much of an error's body is read."""

_GZIP: Final = 16 + zlib.MAX_WBITS


@dataclasses.dataclass(frozen=True, slots=True)
class Reply:
    """What Prometheus answered.

    Attributes:
        status: the HTTP status.
        headers: whatever their case.
        body: all of it; of an error no more than its beginning.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes


class Exchange:
    """One request under way in a worker thread; `abort` ends it from outside, whatever it waits for.

    A library's timeout is for each wait between two bytes: who sends one now and then would hold a thread endlessly.
    """

    def __init__(self) -> None:
        self.aborted = False
        self._connection: HTTPConnection | None = None
        self._lock = threading.Lock()

    def hold(self, connection: HTTPConnection) -> None:
        """Say over which connection it goes."""
        with self._lock:
            if self.aborted:
                raise ConnectionAbortedError
            self._connection = connection

    def release(self) -> None:
        """Say that the connection is somebody else's from now on."""
        with self._lock:
            self._connection = None

    def abort(self) -> None:
        """Break the connection, so that the thread goes on."""
        with self._lock:
            self.aborted = True
            wire = self._connection.sock if self._connection is not None else None
            if isinstance(wire, socket.socket):  # TLS through a proxy that wants TLS is none
                with contextlib.suppress(OSError):  # it may have ended by itself
                    socket.socket.shutdown(wire, socket.SHUT_RDWR)  # below TLS, which would wait for a farewell


class Transport:
    """The connections to one Prometheus: one for each thread, since the library's session is not for several.

    Args:
        access: where it is, and who we are.
        timeout_s: for connecting, and for each wait for data.
        max_bytes: how long an answer may be, unpacked.
    """

    def __init__(self, access: PrometheusAccess, *, timeout_s: float, max_bytes: int) -> None:
        self._access = access
        self._timeout_s = timeout_s
        self._max_bytes = max_bytes
        self._local = threading.local()
        self._connections: list[_FormConnection] = []

    def post(self, path: str, form: Form, credentials: Credentials, exchange: Exchange) -> Reply:
        """Send one request and return its answer, whatever its status.

        Raises:
            Failure: there is no answer, or not all of it.
        """
        _here.exchange = exchange
        try:
            response = self._connection().post(path, form, credentials)
            try:
                return Reply(response.status_code, response.headers, self._body(response, exchange))
            finally:
                response.close()
        except (OSError, urllib3.exceptions.HTTPError) as error:  # requests' own exceptions are OSErrors
            raise of_transport(error) from error
        finally:
            exchange.release()
            _here.exchange = None

    def close(self) -> None:
        """Close the connections that nobody uses."""
        for connection in self._connections:
            connection.close()

    def _body(self, response: requests.Response, exchange: Exchange) -> bytes:
        body = bytearray()
        try:
            for piece in _pieces(response):
                body += piece
                if exchange.aborted:
                    raise Failure(MetricsCause.TIMEOUT, "Prometheus did not answer (given up)")
                if response.status_code != HTTPStatus.OK and len(body) >= ERROR_BYTES:
                    break
                if len(body) > self._max_bytes:
                    sentence = f"Prometheus' answer is longer than {self._max_bytes} bytes"
                    raise Failure(MetricsCause.TOO_MUCH, sentence, fix=SettingsFix.ALLOW_LONGER_ANSWERS)
        except (urllib3.exceptions.HTTPError, zlib.error, OSError) as error:
            if response.status_code == HTTPStatus.OK:
                failure = of_transport(error)
                if failure.cause is not MetricsCause.TIMEOUT:
                    failure = Failure(MetricsCause.MALFORMED, "Prometheus' answer was cut off")
                raise failure from error
            # Of an error the status says enough: a server that refuses may not wait until all is read.
        return bytes(body)

    def _connection(self) -> "_FormConnection":
        connection: _FormConnection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = _FormConnection(self._access, timeout_s=self._timeout_s)
            self._connections.append(connection)
        return connection


def _pieces(response: requests.Response) -> Iterator[bytes]:
    """Give the body as it comes in, unpacked in pieces of bounded size: little that is packed can be much."""
    packed = response.headers.get("Content-Encoding", "").strip().lower() == "gzip"
    unpacking = zlib.decompressobj(_GZIP)
    while piece := response.raw.read1(PIECE_BYTES, decode_content=False):
        if not packed:
            yield piece
        while packed and piece:
            yield unpacking.decompress(piece, PIECE_BYTES)
            piece = unpacking.unconsumed_tail
    if packed:
        yield unpacking.flush()
        if not unpacking.eof:
            raise zlib.error("the packed data ended early")


class _FormConnection(PrometheusConnect):
    """The library's connection, with POST as Prometheus documents it."""

    def __init__(self, access: PrometheusAccess, *, timeout_s: float) -> None:
        super().__init__(url=access.url.rstrip("/"), headers=dict(access.headers), timeout=timeout_s, method="POST")
        self._session.mount(self.url, _Adapter(access.server_name))
        self._access = access

    def post(self, path: str, form: Form, credentials: Credentials) -> requests.Response:
        """Ask with the parameters in the body; the answer's body is not read yet."""
        certificate, ca_file = self._access.client_certificate, self._access.ca_file
        response: requests.Response = self._session.post(
            f"{self.url}{path}",
            data=form,
            headers={"Accept": "application/json", "Accept-Encoding": "gzip", **self.headers},
            auth=credentials,
            timeout=self._timeout,
            # Given with each request: what a session knows, variables of the environment would overrule.
            verify=str(ca_file) if ca_file else True,
            cert=(str(certificate.cert_file), str(certificate.key_file)) if certificate else None,
            allow_redirects=False,  # the library would follow with a GET that asks nothing
            stream=True,
        )
        return response


_here = threading.local()
"""What this thread is doing: `exchange`."""


class _Abortable(HTTPConnection):
    """A connection that tells this thread's exchange of itself before it may have to wait."""

    def connect(self) -> None:
        _here.exchange.hold(self)
        super().connect()

    def request(self, *args: Any, **kwargs: Any) -> None:
        _here.exchange.hold(self)
        super().request(*args, **kwargs)


class _AbortableTls(_Abortable, HTTPSConnection):
    """Likewise, with TLS."""


class _Pool(urllib3.HTTPConnectionPool):
    ConnectionCls = _Abortable


class _TlsPool(urllib3.HTTPSConnectionPool):
    ConnectionCls = _AbortableTls


class _Adapter(HTTPAdapter):
    """One connection, no retries of its own, and the name that the server's certificate must have."""

    def __init__(self, server_name: str | None) -> None:
        self._server_name = server_name
        super().__init__(pool_connections=1, pool_maxsize=1, max_retries=0)

    def init_poolmanager(self, connections: int, maxsize: int, block: bool = False, **pool_kwargs: Any) -> None:  # noqa: FBT001, FBT002 - the library's
        if self._server_name is not None:
            pool_kwargs["server_hostname"] = self._server_name
        super().init_poolmanager(connections, maxsize, block, **pool_kwargs)
        self.poolmanager.pool_classes_by_scheme = {"http": _Pool, "https": _TlsPool}
