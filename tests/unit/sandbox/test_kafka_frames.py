import struct

from hypothesis import given
from hypothesis import strategies as st

from sandbox.kafka_frames import HEARTBEAT, FrameHeads, Recorder


def frame(payload: bytes) -> bytes:
    """Return the payload as it stands on the wire."""
    return struct.pack(">i", len(payload)) + payload


def request(correlation_id: int, client_id: str | None, *, api_key: int = HEARTBEAT) -> bytes:
    """Return a framed request."""
    encoded = None if client_id is None else client_id.encode()
    head = struct.pack(">hhih", api_key, 4, correlation_id, -1 if encoded is None else len(encoded))
    return frame(head + (encoded or b"") + b"the body")


def answer(correlation_id: int) -> bytes:
    """Return a framed answer."""
    return frame(struct.pack(">i", correlation_id) + b"the body")


@given(payloads=st.lists(st.binary(max_size=1500), max_size=6), chunk=st.integers(1, 900))
def test_frames_are_found_however_the_stream_is_chopped(payloads: list[bytes], chunk: int) -> None:
    """Heads depend on the frames alone, not on where the network cut the bytes."""
    stream = b"".join(frame(payload) for payload in payloads)
    heads = FrameHeads()
    found = [head for at in range(0, len(stream), chunk) for head in heads.feed(stream[at : at + chunk])]
    assert found == [payload[:512] for payload in payloads]


def test_another_protocol_yields_no_frames() -> None:
    """HTTP begins with a length that no frame has, and is left alone from there on."""
    heads = FrameHeads()
    assert heads.feed(b"GET /metrics HTTP/1.1\r\n") == []
    assert heads.feed(frame(b"too late")) == []


def test_an_answer_gives_its_request_a_round_trip() -> None:
    """Answers are paired by connection and correlation id, whatever their order."""
    recorder = Recorder()
    recorder.from_client(1, request(7, "orders-0") + request(8, "orders-0"), 100.0)
    recorder.from_client(2, request(7, "orders-1"), 100.5)
    recorder.to_client(1, answer(8), 101.0)
    recorder.to_client(2, answer(7), 103.5)
    assert [(request.client_id, request.correlation_id, request.round_trip_s) for request in recorder.requests] == [
        ("orders-0", 7, None),
        ("orders-0", 8, 1.0),
        ("orders-1", 7, 3.0),
    ]


def test_the_kind_of_a_request_is_recorded() -> None:
    """Api key and version come from the request's own header."""
    recorder = Recorder()
    recorder.from_client(1, request(1, None), 5.0)
    (seen,) = recorder.requests
    assert (seen.api_key, seen.api_version, seen.client_id, seen.arrival_s) == (HEARTBEAT, 4, None, 5.0)
