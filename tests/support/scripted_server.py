"""An HTTP server on loopback that does with each request what a test wants, for what a real Prometheus never does."""

import contextlib
import dataclasses
import http.server
import json
import ssl
import threading
import urllib.parse
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler
from typing import Any, Final

LOOPBACK: Final = "127.0.0.1"

EMPTY: Final[Mapping[str, Any]] = {
    "/api/v1/query": {"resultType": "matrix", "result": []},
    "/api/v1/series": [],
}
"""What each endpoint answers when there is nothing."""


@dataclasses.dataclass(frozen=True)
class Request:
    """What came in."""

    path: str
    headers: Mapping[str, str]
    form: Mapping[str, list[str]]


class Handler(BaseHTTPRequestHandler):
    """One connection; `asked` is the request to answer."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # the body goes after the head at once, not when the head's receipt came: 40 ms each
    asked: Request

    def log_message(self, *_: object) -> None:
        """Say nothing."""


Script = Callable[[Handler], None]
"""Answers one request, whose body has been read, however it likes."""


class ScriptedServer:
    """Runs a script for each request.

    Attributes:
        script: what to do; may be changed at any time.
        requests: all that came in.
        url: of the server.
    """

    def __init__(self) -> None:
        self.script: Script = nothing
        self.requests: list[Request] = []
        self.url = ""


@contextlib.contextmanager
def serving(script: Script | None = None, *, tls: ssl.SSLContext | None = None) -> Iterator[ScriptedServer]:
    """Give a server on a free port; stop it afterwards, whatever its scripts are doing."""
    scripted = ScriptedServer()
    scripted.script = script or nothing

    class Scripted(Handler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            self.asked = Request(self.path, dict(self.headers), urllib.parse.parse_qs(body))
            scripted.requests.append(self.asked)
            with contextlib.suppress(OSError):  # who asked may have gone
                scripted.script(self)

    class Server(http.server.ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: object) -> None:
            """Say nothing: handshakes fail on purpose."""

    with Server((LOOPBACK, 0), Scripted) as server:
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        scripted.url = f"http{'s' if tls else ''}://{LOOPBACK}:{server.server_address[1]}"
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        yield scripted
        server.shutdown()


def respond(handler: Handler, body: bytes, *, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
    """Answer as a well-behaved server does; `headers` may overrule its `Content-Length`."""
    handler.send_response(status)
    for name, value in ({"Content-Length": str(len(body))} | dict(headers or {})).items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(body)


def answer(data: Any, **beside: Any) -> bytes:
    """Return a successful answer's body."""
    return json.dumps({"status": "success", "data": data, **beside}).encode()


def nothing(handler: Handler) -> None:
    """Answer that there is nothing."""
    respond(handler, answer(EMPTY[handler.path]))
