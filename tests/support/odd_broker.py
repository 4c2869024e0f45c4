"""A broker of our own that answers in Kafka's protocol whatever a test wants."""

import contextlib
import socket
import threading
from collections.abc import Callable

from heartbeat_tuner.adapters.kafka.wire.wire_format import MOST_BYTES, MalformedAnswerError, number

Bodies = Callable[[int, int], bytes]
"""Returns the body of an answer: by the request's key and the broker's port."""


class OddBroker:
    """A broker of one connection after the other.

    Args:
        body: of its answers; who raises `OSError` there ends the connection. A stranger's bytes end it, too: a port may
            have been somebody else's before.
    """

    def __init__(self, body: Bodies) -> None:
        self._body = body
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self.asked: list[int] = []
        self.request = b""
        """The one that is answered, from its key on."""
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        """Listen no more, and end the thread: one that waits for connections would keep the socket open."""
        with contextlib.suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listening.accept()
                with connection, contextlib.suppress(OSError, MalformedAnswerError):
                    while head := connection.recv(4, socket.MSG_WAITALL):
                        self.request = request = self._read(connection, int.from_bytes(head, "big"))
                        key = int.from_bytes(request[:2], "big")
                        self.asked.append(key)
                        answer = request[4:8] + self._body(key, self.port)
                        connection.sendall(number(len(answer), 4) + answer)

    @staticmethod
    def _read(connection: socket.socket, size: int) -> bytes:
        if size > MOST_BYTES:
            raise MalformedAnswerError(f"a request of {size} bytes, more than {MOST_BYTES}")
        return connection.recv(size, socket.MSG_WAITALL)
