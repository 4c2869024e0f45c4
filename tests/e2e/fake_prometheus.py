"""An HTTP server that says whatever a test wants Prometheus to say."""

import http.server
import json
import threading
import time
import urllib.parse
from collections.abc import Callable
from typing import Any, Final, Self

from heartbeat_tuner.metrics.conventions import kafkajs_metrics
from sandbox.network import LOOPBACK

Answer = tuple[int, str]
"""HTTP status and body."""

EMPTY: Final[dict[str, Any]] = {"resultType": "matrix", "result": []}


class FakePrometheus:
    """Answers each query with `answer_to(query)`, which is `answer()` unless a subclass looks; a context manager."""

    def __init__(self) -> None:
        self.answer: Callable[[], Answer] = lambda: success(EMPTY)
        fake = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                form = urllib.parse.parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
                status, body = fake.answer_to(form["query"][0])
                payload = body.encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(payload)))
                self.end_headers()
                self.wfile.write(payload)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._server = http.server.ThreadingHTTPServer((LOOPBACK, 0), Handler)
        self._server.daemon_threads = True
        self.port: int = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, name="fake-prometheus")

    def answer_to(self, query: str) -> Answer:  # noqa: ARG002 - one that tells the truth looks at it
        """Return the answer to a query."""
        return self.answer()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def success(data: Any, **beside: Any) -> Answer:
    """Return a well-formed answer with this data."""
    return 200, json.dumps({"status": "success", "data": data, **beside})


def one_sample(group: str, *, value: str, age_s: float = 0) -> dict[str, Any]:
    """Return a matrix of each series of a KafkaJS consumer of the group, in the namespace of the same name.

    Each has one sample.
    """
    labels = {"namespace": group, "group_id": group, "pod": f"{group}-0"}
    values = [[time.time() - age_s, value]]
    series = [
        {"__name__": metric.names[0], **dict(metric.matchers), **labels} for metric in kafkajs_metrics.EXPORTER.metrics
    ]
    return {"resultType": "matrix", "result": [{"metric": series_, "values": values} for series_ in series]}
