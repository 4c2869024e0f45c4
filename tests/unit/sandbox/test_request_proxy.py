"""The proxy that holds one request: what is lost never arrives."""

import http.client
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import trustme

from sandbox.network import LOOPBACK
from sandbox.request_proxy import RequestProxy


class _Target(ThreadingHTTPServer):
    """Answers in the API server's place, and notes what it was asked."""

    def __init__(self) -> None:
        self.paths: list[str] = []
        super().__init__((LOOPBACK, 0), _Handler)


class _Handler(BaseHTTPRequestHandler):
    server: _Target

    def do_PATCH(self) -> None:
        """Note the request."""
        self.server.paths.append(self.path)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture
def target() -> Iterator[_Target]:
    """A server that runs."""
    with _Target() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def proxy(target: _Target, tmp_path: Path) -> Iterator[RequestProxy]:
    """A proxy before it."""
    ca_file = tmp_path / "ca.crt"
    trustme.CA().cert_pem.write_to_path(str(ca_file))
    with RequestProxy(f"http://{LOOPBACK}:{target.server_address[1]}", ca_file) as made:
        yield made


@pytest.mark.parametrize("gave_up", [False, True])
def test_a_lost_request_never_arrives(proxy: RequestProxy, target: _Target, *, gave_up: bool) -> None:
    """Not even where its sender has given up meanwhile: it would be written after the sender's leadership."""
    held = proxy.hold("PATCH", "/lost")
    with socket.create_connection((LOOPBACK, proxy.port)) as sender:
        sender.sendall(b"PATCH /lost HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
        held.await_caught()
        if gave_up:
            sender.close()
            _next_request(proxy)  # by now the proxy has seen the end of the connection
        held.lose()
        _next_request(proxy)
    assert target.paths == (["/next", "/next"] if gave_up else ["/next"])


def _next_request(proxy: RequestProxy) -> None:
    connection = http.client.HTTPConnection(LOOPBACK, proxy.port)
    connection.request("PATCH", "/next")
    assert connection.getresponse().status == 200
    connection.close()
