import gc
import socket
import socketserver
import struct
import threading
import time
from collections.abc import Iterator

import pytest

from sandbox.kafka_frames import HEARTBEAT
from sandbox.proxy import FaultProxy


class Echo(socketserver.BaseRequestHandler):
    """Sends back what it gets."""

    server: "EchoServer"

    def handle(self) -> None:
        """Serve one connection to its end."""
        try:
            while data := self.request.recv(4096):
                self.request.sendall(data)
        except OSError:
            pass  # reset by a fault
        self.server.ended.set()


class EchoServer(socketserver.ThreadingTCPServer):
    """A target on loopback that tells when a connection to it has ended."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Echo)
        self.port: int = self.socket.getsockname()[1]
        self.ended = threading.Event()


@pytest.fixture
def echo() -> Iterator[EchoServer]:
    """Run the target."""
    with EchoServer() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def proxy(echo: EchoServer) -> Iterator[FaultProxy]:
    """Run a proxy before the target."""
    with FaultProxy("127.0.0.1", echo.port) as running:
        yield running


def connect(proxy: FaultProxy) -> socket.socket:
    """Connect as a client."""
    return socket.create_connection(("127.0.0.1", proxy.port), timeout=10)


def receive(client: socket.socket, size: int) -> bytes:
    """Return so many bytes, or fewer at the connection's end."""
    received = b""
    while len(received) < size and (data := client.recv(size - len(received))):
        received += data
    return received


def is_silent(client: socket.socket, *, for_s: float = 0.3) -> bool:
    """Whether nothing at all, not even an end, comes for a while."""
    client.settimeout(for_s)
    try:
        client.recv(1)
    except TimeoutError:
        return True
    finally:
        client.settimeout(10)
    return False


def echoes(client: socket.socket, data: bytes = b"ping") -> bool:
    """Whether the target answers."""
    client.sendall(data)
    return receive(client, len(data)) == data


def test_a_good_wire_passes_everything_both_ways(proxy: FaultProxy) -> None:
    """Bytes come back unchanged, the client's end is passed on, and the counts tell of it."""
    payload = bytes(range(256)) * 2000
    with connect(proxy) as client:

        def send() -> None:
            client.sendall(payload)
            client.shutdown(socket.SHUT_WR)

        sender = threading.Thread(target=send)
        sender.start()
        assert receive(client, len(payload)) == payload
        assert client.recv(1) == b""
        sender.join()
    assert proxy.connections == 1
    assert proxy.bytes_to_target == proxy.bytes_to_client == len(payload)


def test_delay_holds_bytes_back_and_keeps_their_order(proxy: FaultProxy) -> None:
    """Chunks sent after the delay was lifted wait for the ones still held back."""
    with connect(proxy) as client:
        assert echoes(client)
        proxy.delay(0.3)
        began = time.monotonic()
        client.sendall(b"first,")
        time.sleep(0.1)
        proxy.delay(0.0)
        client.sendall(b"second")
        assert receive(client, 12) == b"first,second"
        assert time.monotonic() - began >= 0.25


def test_a_long_delay_does_not_outlive_its_connection(echo: EchoServer) -> None:
    """A proxy that still holds bytes back ends at once."""
    with FaultProxy("127.0.0.1", echo.port) as proxy:
        client = connect(proxy)
        assert echoes(client)
        proxy.delay(3600)
        client.sendall(b"held back")
        before = time.monotonic()
    with client, pytest.raises(ConnectionResetError):
        client.recv(1)
    assert time.monotonic() - before < 5


def test_cut_ends_connections_and_refuses_new_ones_until_healed(proxy: FaultProxy) -> None:
    """A cut wire resets who is there, refuses who comes, and the port is the same afterwards."""
    with connect(proxy) as client:
        assert echoes(client)
        proxy.cut()
        with pytest.raises(ConnectionResetError):
            client.recv(1)
    with pytest.raises(ConnectionRefusedError):
        connect(proxy)
    proxy.heal()
    with connect(proxy) as client:
        assert echoes(client)


def test_a_connection_that_meets_the_cut_is_closed(proxy: FaultProxy) -> None:
    """Nothing stays open of a connection that comes at the moment of the cut; the collector would warn of it."""
    for _ in range(50):
        with socket.socket() as client:
            client.setblocking(False)
            client.connect_ex(("127.0.0.1", proxy.port))
            proxy.cut()
            client.settimeout(10)
            with pytest.raises(OSError, match=r"reset|refused"):
                client.recv(1)
        proxy.heal()
    gc.collect()


def test_black_hole_swallows_and_never_answers(proxy: FaultProxy, echo: EchoServer) -> None:
    """Old and new connections stay open and mute, the target hears nothing, and healing resets the maimed ones."""
    with connect(proxy) as old, connect(proxy) as idle:
        assert echoes(old)
        assert echoes(idle)
        before = proxy.bytes_to_target
        proxy.black_hole()
        old.sendall(b"lost")
        assert is_silent(old)
        with connect(proxy) as new:
            new.sendall(b"lost")
            assert is_silent(new)
            assert not echo.ended.is_set()
            assert proxy.bytes_to_target == before
            proxy.heal()
            for maimed in (old, new):
                with pytest.raises(ConnectionResetError):
                    maimed.recv(1)
        assert echoes(idle)


def test_half_open_loses_the_target_and_not_the_client(proxy: FaultProxy, echo: EchoServer) -> None:
    """The target sees its connection end while the client's stays open without an answer."""
    with connect(proxy) as client:
        assert echoes(client)
        proxy.half_open()
        assert echo.ended.wait(10)
        client.sendall(b"anybody?")
        assert is_silent(client)
        proxy.heal()
        with pytest.raises(ConnectionResetError):
            client.recv(1)
    with connect(proxy) as client:
        assert echoes(client)


def test_a_target_that_is_not_there_resets_the_client() -> None:
    """Nobody is kept waiting for a target that refuses."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        with FaultProxy("127.0.0.1", unused.getsockname()[1]) as proxy:

            def ask() -> None:
                with connect(proxy) as client:
                    client.recv(1)

            with pytest.raises(ConnectionResetError):
                ask()  # the reset may come as early as in connecting


def test_only_a_recording_proxy_keeps_requests(proxy: FaultProxy) -> None:
    """Other protocols pass through a proxy that records nothing."""
    with connect(proxy) as client:
        assert echoes(client, b"GET / HTTP/1.1\r\n\r\n")
    assert proxy.requests == []


def frame(kind: int, correlation_id: int) -> bytes:
    """Return a request of Kafka's protocol."""
    body = struct.pack(">hhih", kind, 0, correlation_id, -1)
    return struct.pack(">i", len(body)) + body


def test_a_slow_kind_of_request_holds_back_what_follows_and_nothing_else(proxy: FaultProxy) -> None:
    """An answer that overtook another would end the client: they are told apart by their order."""
    proxy.delay_requests([HEARTBEAT], 0.5)
    beat, other = frame(HEARTBEAT, 1), frame(3, 2)
    with connect(proxy) as client, connect(proxy) as unhurt:
        client.sendall(beat)
        began = time.monotonic()
        time.sleep(0.05)
        client.sendall(other)
        unhurt.sendall(other)
        assert receive(unhurt, len(other)) == other
        assert time.monotonic() - began < 0.4
        assert receive(client, len(beat) + len(other)) == beat + other
        assert time.monotonic() - began >= 0.45
        proxy.heal()
        assert echoes(client, beat)
