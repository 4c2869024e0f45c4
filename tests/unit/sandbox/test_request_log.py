from pathlib import Path

import pytest

from sandbox.request_log import (
    MEMBER_ID_REQUIRED,
    NONE,
    UNKNOWN_MEMBER_ID,
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    Record,
    RequestLog,
    beat_periods_s,
    beats_by_error_code,
    heartbeats,
    median_s,
    parse,
    rebalances,
    rebalances_per_minute,
)

SAMPLE = Path(__file__).parent / "data" / "kafka-requests.log"
"""Verbatim lines of a 4.4.0 broker: a KafkaJS member is evicted between two messages, and back; a Java one leaves."""


def generation(record: Record) -> int | None:
    """Return the generation that a record names, if its kind does."""
    return None if isinstance(record, LeaveGroup) else record.generation_id


@pytest.fixture
def sample() -> list[Record]:
    """Return the records of the sample."""
    return parse(SAMPLE.read_text().splitlines())


def test_real_lines_become_heartbeats_and_joins(sample: list[Record]) -> None:
    """Commits and syncs are passed over; the error code tells what became of the rest."""
    assert [(type(item).__name__, item.client_id, generation(item), item.error_code) for item in sample] == [
        ("Heartbeat", "msg3-0", 8, NONE),
        ("Heartbeat", "msg3-0", 8, UNKNOWN_MEMBER_ID),
        ("Heartbeat", "msg3-0", 8, UNKNOWN_MEMBER_ID),
        ("JoinGroup", "msg3-0", -1, MEMBER_ID_REQUIRED),
        ("JoinGroup", "msg3-1", 11, NONE),
        ("JoinGroup", "msg3-0", 11, NONE),
        ("Heartbeat", "msg3-0", 11, NONE),
        ("LeaveGroup", "consumer-orders-1", None, NONE),
    ]


def test_a_request_arrived_its_total_time_before_its_line(sample: list[Record]) -> None:
    """A join waits at the coordinator for the other members, so its arrival and its answer are far apart."""
    joined = sample[5]
    assert isinstance(joined, JoinGroup)
    assert joined.answered_s == 1795255278.526
    assert joined.arrival_s == pytest.approx(joined.answered_s - 0.999, abs=0.002)


def test_the_answer_names_the_member(sample: list[Record]) -> None:
    """The id that a newcomer is given is the id with which it beats afterwards."""
    refused, asked, joined, beats = sample[1], sample[3], sample[5], sample[6]
    assert isinstance(refused, Heartbeat)
    assert isinstance(asked, JoinGroup)
    assert isinstance(joined, JoinGroup)
    assert isinstance(beats, Heartbeat)
    assert asked.member_id == joined.member_id == beats.member_id
    assert asked.member_id != refused.member_id


def test_a_leave_names_who_left(sample: list[Record]) -> None:
    """A member that goes of its own accord says so; an evicted one does not, and that tells them apart."""
    left = sample[-1]
    assert isinstance(left, LeaveGroup)
    assert left.group_id == "orders"
    assert left.member_ids == ("consumer-orders-1-a0f44071-76a2-49c7-9a95-85e0cfe5696c",)
    assert left.arrival_s == pytest.approx(1795272029.641, abs=0.002)


def join(generation_id: int, answered_s: float, *, group_id: str = "orders", error_code: int = NONE) -> JoinGroup:
    """Return a join of some member."""
    return JoinGroup(answered_s - 0.1, answered_s, "orders-0", group_id, "orders-0-x", generation_id, error_code)


def beat(arrival_s: float, *, client_id: str = "orders-0", error_code: int = NONE) -> Heartbeat:
    """Return a heartbeat of the group."""
    return Heartbeat(arrival_s, client_id, "orders", f"{client_id}-x", 3, error_code)


def test_a_rebalance_is_a_generation_however_many_joined_it() -> None:
    """Refused joins, other groups and what lies outside the window do not count."""
    records = [
        join(1, 5.0),
        join(2, 10.0),
        join(2, 10.1),
        join(-1, 11.0, error_code=MEMBER_ID_REQUIRED),
        join(9, 12.0, group_id="payments"),
        join(3, 20.0),
        join(4, 40.0),
    ]
    assert rebalances(records, "orders", 10.0, 40.0) == 2
    assert rebalances_per_minute(records, "orders", 10.0, 40.0) == 4.0


def test_periods_are_measured_per_client_between_arrivals() -> None:
    """Refused beats arrive too, and log order is not arrival order."""
    beats = [beat(3.0, error_code=UNKNOWN_MEMBER_ID), beat(1.0), beat(1.5, client_id="orders-1"), beat(7.0)]
    assert beat_periods_s(beats, "orders-0") == [2.0, 4.0]
    assert median_s([2.0, 4.0]) == 3.0
    assert median_s(beat_periods_s(beats, "orders-1")) is None
    assert beats_by_error_code(beats) == {NONE: 3, UNKNOWN_MEMBER_ID: 1}


def test_heartbeats_are_those_of_the_group_in_the_window() -> None:
    """The window's end is outside."""
    records: list[Record] = [beat(1.0), beat(2.0), beat(3.0), join(1, 2.0)]
    assert [heartbeat.arrival_s for heartbeat in heartbeats(records, "orders", 1.5, 3.0)] == [2.0]
    assert heartbeats(records, "payments", 0.0, 9.0) == []


def test_a_torn_line_is_passed_over() -> None:
    """A broker that was killed leaves half a line, and the next start goes on after it."""
    torn = SAMPLE.read_text().splitlines()[0][:400]
    assert parse([torn]) == []


def test_a_growing_log_is_read_once_and_by_whole_lines(tmp_path: Path) -> None:
    """Half a line waits for its other half."""
    path = tmp_path / "kafka-requests.log"
    log = RequestLog(path)
    assert log.read_new() == []
    lines = SAMPLE.read_text().splitlines(keepends=True)
    path.write_text(lines[0] + lines[2][:300])
    assert [item.error_code for item in log.read_new()] == [NONE]
    with path.open("a") as growing:
        growing.write(lines[2][300:])
    assert [item.error_code for item in log.read_new()] == [UNKNOWN_MEMBER_ID]
    assert log.read_new() == []
