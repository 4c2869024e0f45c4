"""Requests to the API server share connections, and outlive its end."""

import http.server
import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme

from sandbox.api_requests import ApiRequests
from sandbox.errors import SandboxError
from sandbox.network import LOOPBACK

_ANSWERS_WITHIN_S = 5.0


class _Server(http.server.ThreadingHTTPServer):
    """Answers each path with its connection's number; what ends with `missing` is not there."""

    def __init__(self, certificate: trustme.LeafCert) -> None:
        super().__init__((LOOPBACK, 0), _Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        certificate.configure_cert(context)
        self.socket = context.wrap_socket(self.socket, server_side=True)
        self.connections: list[socket.socket] = []

    def end_connections(self) -> None:
        """End all connections, as an API server does that crashes."""
        for connection in self.connections:
            connection.shutdown(socket.SHUT_RDWR)


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def setup(self) -> None:
        self.server.connections.append(self.request)
        super().setup()

    def do_GET(self) -> None:
        body = b'{"connection": %d}' % len(self.server.connections)
        self.send_response(404 if self.path.endswith("missing") else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[_Server]:
    """A server whose authority is in `ca.pem`."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    with _Server(authority.issue_cert(LOOPBACK)) as started:
        serving = threading.Thread(target=started.serve_forever, kwargs={"poll_interval": 0.01})
        serving.start()
        yield started
        started.shutdown()
        serving.join()


@pytest.fixture
def requests(server: _Server, tmp_path: Path) -> Iterator[ApiRequests]:
    """Requests to it."""
    made = ApiRequests(LOOPBACK, server.server_port, tmp_path / "ca.pem", "token")
    yield made
    made.close()


def test_requests_share_a_connection(requests: ApiRequests) -> None:
    """Opening one takes most of the time of a request."""
    assert [requests.document("GET", "/x")["connection"] for _ in range(3)] == [1, 1, 1]


def test_an_ended_connection_is_replaced(requests: ApiRequests, server: _Server) -> None:
    """An API server that is back answers, whatever became of the connections to the one before."""
    requests.document("GET", "/x")
    server.end_connections()
    assert requests.answer("GET", "/x", timeout_s=_ANSWERS_WITHIN_S) == (200, b'{"connection": 2}')


def test_an_error_is_raised_with_what_was_asked_and_answered(requests: ApiRequests) -> None:
    """It is no document; where it is accepted, it is."""
    with pytest.raises(SandboxError, match=r"GET /missing: 404: .*connection"):
        requests.document("GET", "/missing")
    assert requests.document("GET", "/missing", accepted=(404,)) == {"connection": 1}


def test_nobody_answers_where_nothing_listens(requests: ApiRequests, server: _Server) -> None:
    """Status 0 says it: whoever waits for the API server asks again."""
    server.server_close()
    assert requests.answer("GET", "/x", timeout_s=_ANSWERS_WITHIN_S)[0] == 0
