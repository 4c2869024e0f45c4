"""What stands before a real Prometheus and lets days of it go wrong, each in its own way: for `scripted_server`.

Days are told apart by when a slice's window ends; windows are numbered from 0 within a day.
"""

import email.utils
import json
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

from tests.support import counters
from tests.support.scripted_server import Handler, respond

LONG_S: Final = 15_000
"""A window and its margins are longer, half of them is not."""

SLOW_S: Final = 4.0
"""To be more than who asks waits for."""

WRONG_BY: Final = timedelta(hours=1)


class Faulty:
    """Hands requests on, and gives another answer where a fault is due.

    Args:
        url: of the real one.

    Attributes:
        passing: of which day's windows the first takes no long query (422), the second wants to be left alone for a
            moment (429), the third is away for as long as the adapter asks again (503), the last is slow for long ones.
        partial: on which day an answer of the last window is partial.
        clock: on which day's slices the clock is wrong.
        flooded: on which day every slice is too much.
        hits: how often each fault struck, by its attribute, and for `passing` by its status, 200 for the slow one.
    """

    def __init__(self, url: str) -> None:
        self.passing: date | None = None
        self.partial: date | None = None
        self.clock: date | None = None
        self.flooded: date | None = None
        self.hits: Counter[str] = Counter()
        self._url = url
        self._lock = threading.Lock()

    def heal(self) -> None:
        """Let nothing go wrong any more."""
        self.passing = self.partial = self.clock = self.flooded = None

    def __call__(self, handler: Handler) -> None:
        """Answer one request."""
        form = handler.asked.form
        query = form["query"][0]
        ended = datetime.fromtimestamp(float(form["time"][0]), UTC) - timedelta(hours=1)  # without the margin
        of_slice = query.startswith("{__name__=~")
        day, window = ended.date() if of_slice else None, ended.hour // 6
        if day is not None and day == self.passing and self._passes(handler, window, query):
            return
        if day is not None and day == self.flooded:
            self._struck("flooded")
            respond(handler, _error("query processing would load too many samples into memory"), status=422)
            return
        document = self._asked(handler)
        if day is not None and day == self.partial and window == 3:
            self._struck("partial")
            document["warnings"] = ["a store is away"]
        body = json.dumps(document).encode()
        if day is not None and day == self.clock:
            self._struck("clock")
            wrong = email.utils.format_datetime(datetime.now(UTC) - WRONG_BY, usegmt=True)
            head = f"HTTP/1.1 200 OK\r\nDate: {wrong}\r\nContent-Length: {len(body)}\r\n\r\n"
            handler.wfile.write(head.encode() + body)
            return
        respond(handler, body)

    def _passes(self, handler: Handler, window: int, query: str) -> bool:
        """Let a fault strike that who asks can bear; return whether it did."""
        is_long = counters.asked(query).window_s > LONG_S
        match window:
            case 0 if is_long:
                self._struck("422")
                respond(handler, _error("query processing would load too many samples into memory"), status=422)
            case 1 if self._struck("429") == 1:
                respond(handler, _error("too many requests"), status=429, headers={"Retry-After": "1"})
            case 2 if self._struck("503") <= 3:
                respond(handler, b"the gateway knows no store", status=503)
            case 3 if is_long:
                self._struck("slow")
                time.sleep(SLOW_S)
                respond(handler, b"{}")
            case _:
                return False
        return True

    def _struck(self, fault: str) -> int:
        with self._lock:
            self.hits[fault] += 1
            return self.hits[fault]

    def _asked(self, handler: Handler) -> dict[str, Any]:
        """Return what the real one says."""
        body = urllib.parse.urlencode(handler.asked.form, doseq=True).encode()
        with urllib.request.urlopen(self._url + handler.asked.path, body) as answer:  # noqa: S310 - loopback
            found: dict[str, Any] = json.load(answer)
        return found


def _error(said: str) -> bytes:
    return json.dumps({"status": "error", "errorType": "execution", "error": said}).encode()
