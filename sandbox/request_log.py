"""What the group coordinator saw, read from the broker's request log.

Each line is `<milliseconds since 1970> Completed request:{json}` and stands for one finished request. The line is
written when the answer has left, so a request *arrived* its total time earlier. `parse` turns lines into records of the
kinds that matter to a group's life; the measures below are functions of records and a window of time. All times are
seconds since 1970, as `time.time()` gives them.
"""

import itertools
import json
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

NONE: Final = 0
"""Error code of an accepted request."""
UNKNOWN_MEMBER_ID: Final = 25
REBALANCE_IN_PROGRESS: Final = 27
MEMBER_ID_REQUIRED: Final = 79

BURST_S: Final = 0.5
"""Heartbeats of one client that follow each other sooner than this are one beat and its repetitions."""


@dataclass(frozen=True, slots=True)
class JoinGroup:
    """One JoinGroup; `member_id` and `generation_id` are the coordinator's answer."""

    arrival_s: float
    answered_s: float
    client_id: str
    group_id: str
    member_id: str
    generation_id: int
    error_code: int


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """One Heartbeat, of the group's protocol; `member_id` and `generation_id` (or epoch) are what the member said."""

    arrival_s: float
    client_id: str
    group_id: str
    member_id: str
    generation_id: int
    error_code: int


@dataclass(frozen=True, slots=True)
class LeaveGroup:
    """One LeaveGroup: members that left of their own accord, by the ids they said."""

    arrival_s: float
    client_id: str
    group_id: str
    member_ids: tuple[str, ...]
    error_code: int


Record = JoinGroup | Heartbeat | LeaveGroup

_BY_EPOCH: Final = ("CONSUMER_GROUP_HEARTBEAT", "STREAMS_GROUP_HEARTBEAT", "SHARE_GROUP_HEARTBEAT")
_KINDS: Final = ("JOIN_GROUP", "HEARTBEAT", *_BY_EPOCH, "LEAVE_GROUP")
_MARKS: Final = tuple(f'"requestApiKeyName":"{kind}"' for kind in _KINDS)


def parse(lines: Iterable[str]) -> list[Record]:
    """Return the records among the lines of a request log, in their order.

    Lines about other requests are passed over, and so is a line that ends in the middle, as the last one of a killed
    broker may.
    """
    return [record for line in lines if (record := _parse_line(line)) is not None]


def _parse_line(line: str) -> Record | None:
    if not any(mark in line for mark in _MARKS):
        return None  # most lines: not worth decoding
    written_ms, _, rest = line.partition(" ")
    try:
        entry: dict[str, Any] = json.loads(rest.partition(":")[2])
    except json.JSONDecodeError:
        return None
    header, request, response = entry["requestHeader"], entry["request"], entry["response"]
    written_s = int(written_ms) / 1000
    arrival_s = written_s - entry["totalTimeMs"] / 1000
    kind = header["requestApiKeyName"]
    if kind == "LEAVE_GROUP":
        return LeaveGroup(
            arrival_s=arrival_s,
            client_id=header["clientId"],
            group_id=request["groupId"],
            # Before version 3 of the request, one member left for itself.
            member_ids=tuple(member["memberId"] for member in request.get("members", [request])),
            error_code=response["errorCode"],
        )
    if kind in _BY_EPOCH:
        return Heartbeat(
            arrival_s=arrival_s,
            client_id=header["clientId"],
            group_id=request["groupId"],
            member_id=request["memberId"],
            generation_id=request["memberEpoch"],
            error_code=response["errorCode"],
        )
    if kind == "HEARTBEAT":
        return Heartbeat(
            arrival_s=arrival_s,
            client_id=header["clientId"],
            group_id=request["groupId"],
            member_id=request["memberId"],
            generation_id=request["generationId"],
            error_code=response["errorCode"],
        )
    return JoinGroup(
        arrival_s=arrival_s,
        answered_s=written_s,
        client_id=header["clientId"],
        group_id=request["groupId"],
        member_id=response["memberId"],
        generation_id=response["generationId"],
        error_code=response["errorCode"],
    )


class RequestLog:
    """A growing request log, read from where the last reading ended."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0

    def skip(self) -> None:
        """Pass over what is there by now, up to the end of the last complete line."""
        if self._path.exists():
            with self._path.open("rb") as log:
                complete, newline, _ = log.read().rpartition(b"\n")
            self._offset = len(complete) + len(newline)

    def read_new(self) -> list[Record]:
        """Return the records of the lines completed since the last call; a half-written line waits for its end."""
        if not self._path.exists():
            return []
        with self._path.open("rb") as log:
            log.seek(self._offset)
            complete, newline, _ = log.read().rpartition(b"\n")
        self._offset += len(complete) + len(newline)
        return parse(complete.decode(errors="replace").splitlines())


def rebalances(records: Iterable[Record], group_id: str, since_s: float, until_s: float) -> int:
    """Return how many rebalances of the group were completed in the window, counted as generations handed out."""
    return len(
        {
            record.generation_id
            for record in records
            if isinstance(record, JoinGroup)
            and record.group_id == group_id
            and record.error_code == NONE
            and since_s <= record.answered_s < until_s
        }
    )


def rebalances_per_minute(records: Iterable[Record], group_id: str, since_s: float, until_s: float) -> float:
    """Return the rate of `rebalances` over the window."""
    return rebalances(records, group_id, since_s, until_s) * 60 / (until_s - since_s)


def heartbeats(records: Iterable[Record], group_id: str, since_s: float, until_s: float) -> list[Heartbeat]:
    """Return the group's heartbeats that arrived in the window, accepted and refused ones alike."""
    return [
        record
        for record in records
        if isinstance(record, Heartbeat) and record.group_id == group_id and since_s <= record.arrival_s < until_s
    ]


def evicted(records: Iterable[Record], group_id: str, since_s: float, until_s: float) -> set[str]:
    """Return the members that learnt in this window, from a refused heartbeat, that they are members no more.

    One eviction may refuse several heartbeats, all with the same member id.
    """
    beats = heartbeats(records, group_id, since_s, until_s)
    return {beat.member_id for beat in beats if beat.error_code == UNKNOWN_MEMBER_ID}


def left(records: Iterable[Record], group_id: str, since_s: float, until_s: float) -> set[str]:
    """Return the members that left of their own accord in this window."""
    return {
        member_id
        for record in records
        if isinstance(record, LeaveGroup) and record.group_id == group_id and since_s <= record.arrival_s < until_s
        for member_id in record.member_ids
    }


def beats_by_error_code(beats: Iterable[Heartbeat]) -> Counter[int]:
    """Return how many heartbeats got which error code; `NONE` counts the accepted ones."""
    return Counter(beat.error_code for beat in beats)


def beat_periods_s(beats: Iterable[Heartbeat], client_id: str) -> list[float]:
    """Return the times between consecutive heartbeats of one client, each burst counted as one.

    KafkaJS sends a refused heartbeat again for each further assigned partition, within milliseconds: one beat.
    """
    arrivals = sorted(beat.arrival_s for beat in beats if beat.client_id == client_id)
    beginnings = arrivals[:1] + [later for earlier, later in itertools.pairwise(arrivals) if later - earlier > BURST_S]
    return [later - earlier for earlier, later in itertools.pairwise(beginnings)]


def median_s(periods_s: Sequence[float]) -> float | None:
    """Return the median period; None when there is none."""
    return statistics.median(periods_s) if periods_s else None
