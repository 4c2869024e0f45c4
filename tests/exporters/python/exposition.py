"""The text that a Prometheus scrapes, made by hand: client libraries forbid what these exporters do.

A series stays, at its last value, as in the client libraries of Go and .NET.
"""

import http.server
import threading
from collections.abc import Mapping
from typing import Final

_ESCAPES: Final = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})
_CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


class Exposition:
    """Series by metric name; safe between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._types: dict[str, str] = {}
        self._values: dict[str, dict[tuple[tuple[str, str], ...], float]] = {}

    def become(self, other: "Exposition") -> None:
        """Have the other's series and no others; a scrape sees all or none of them."""
        with self._lock:
            self._types, self._values = other._types, other._values

    def set(self, name: str, kind: str, labels: Mapping[str, object], value: float, *, family: str = "") -> None:
        """Set one series.

        Args:
            name: of the metric.
            kind: gauge, counter or summary.
            labels: without `__name__`.
            value: any float.
            family: whose TYPE line it stands under, if that is another name, as a summary's `_sum`.
        """
        key = tuple((label, str(text)) for label, text in labels.items())
        with self._lock:
            self._types.setdefault(family or name, kind)
            self._values.setdefault(name, {})[key] = value

    def text(self) -> str:
        """Return everything in the text format 0.0.4."""
        with self._lock:
            lines = [f"# TYPE {name} {kind}" for name, kind in self._types.items()]
            for name, series in self._values.items():
                lines += [f"{name}{_braces(labels)} {value!r}" for labels, value in series.items()]
        return "\n".join(lines) + "\n"


def _braces(labels: tuple[tuple[str, str], ...]) -> str:
    inside = ",".join(f'{name}="{text.translate(_ESCAPES)}"' for name, text in labels)
    return f"{{{inside}}}" if inside else ""


def serve(exposition: Exposition, address: str, port: int) -> None:
    """Answer scrapes from a thread of its own, until the process ends."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = exposition.text().encode()
            self.send_response(http.HTTPStatus.OK)
            self.send_header("Content-Type", _CONTENT_TYPE)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing of each scrape."""

    server = http.server.ThreadingHTTPServer((address, port), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
