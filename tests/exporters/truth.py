"""What the coordinator knew of a group, pod by pod: the measure for everything that metrics say about it.

Read from the broker's request log and, for who was given up when, from its own log. Times are seconds since the
recording began. A request belongs to the pod whose address it came from, or, if no pod has that address, to the pod
whose name is its client id.
"""

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

NONE: Final = 0
_REFUSED_MEMBERS: Final = {25: "UNKNOWN_MEMBER_ID", 110: "FENCED_MEMBER_EPOCH"}
_BY_EPOCH: Final = ("CONSUMER_GROUP_HEARTBEAT", "STREAMS_GROUP_HEARTBEAT")
_KINDS: Final = ("JOIN_GROUP", "SYNC_GROUP", "HEARTBEAT", "LEAVE_GROUP", "OFFSET_COMMIT", *_BY_EPOCH)
_CLOCKS_S: Final = 0.1
"""How far the times of the two logs are apart."""

_LEAVING_EPOCHS: Final = (-1, -2)
_EXPIRED: Final = re.compile(
    r"^(?P<at>\S+) .*"
    r"(?:Member (?P<classic>\S+) in group (?P<group>\S+) has failed, removing"
    r"|\[Group(?:Id)? (?P<group2>[^\]]+)\].*?(?:M|Streams m)ember (?P<consumer>\S+) fenced from the group "
    r"because .*session expired)"
)


@dataclass(frozen=True)
class _Request:
    """One finished request of a member."""

    kind: str
    pod: str
    arrived_s: float
    answered_s: float
    asked: dict[str, Any]
    answer: dict[str, Any]

    @property
    def error(self) -> int:
        if self.kind != "OFFSET_COMMIT":
            return int(self.answer["errorCode"])
        codes = [partition["errorCode"] for topic in self.answer["topics"] for partition in topic["partitions"]]
        return int(max(codes, default=NONE))


@dataclass(frozen=True)
class Truth:
    """What is to be recorded.

    Attributes:
        document: for meta.yaml: totals, then what happened to each pod.
        heartbeats_ms: arrivals of accepted heartbeats, by pod.
    """

    document: dict[str, Any]
    heartbeats_ms: dict[str, list[int]]


def read(
    request_log: Iterable[str],
    broker_log: Iterable[str],
    *,
    group: str,
    pods: Mapping[str, str],
    told_to_end_s: Mapping[str, float],
    began_s: float,
    ended_s: float,
) -> Truth:
    """Return the truth of a window.

    Args:
        request_log: lines of the broker's request log.
        broker_log: lines of the broker's own log.
        group: whose.
        pods: the name of each address; a pod that is made again has a new one.
        told_to_end_s: when pods were told to end, of those that were: who leaves earlier has outlasted M.
        began_s: beginning of the window, since 1970.
        ended_s: its end.
    """
    requests = [
        request
        for line in request_log
        if (request := _parse(line, group, pods, began_s)) is not None and 0 <= request.arrived_s <= ended_s - began_s
    ]
    evictions = _evictions(requests, broker_log, group, began_s, ended_s)
    by_pod = {pod: [request for request in requests if request.pod == pod] for pod in pods.values()}
    beats = {pod: [item.arrived_s for item in of_pod if _is_accepted_beat(item)] for pod, of_pod in by_pod.items()}
    document = {
        "accepted_heartbeats": sum(map(len, beats.values())),
        "evictions": evictions,
        "poll_gap_leaves": [
            leave for leave in _leaves(requests) if leave["at_s"] < told_to_end_s.get(leave["pod"], math.inf)
        ],
        "rebalances": _rebalances(requests),
        "pods": {
            pod: {
                "accepted_heartbeats": len(beats[pod]),
                "refused_heartbeats": _refusals(of_pod),
                "evictions": [eviction["at_s"] for eviction in evictions if eviction["pod"] == pod],
                "joins": _joins(of_pod),
                "leaves": [{key: leave[key] for key in ("at_s", "reason")} for leave in _leaves(of_pod)],
            }
            for pod, of_pod in by_pod.items()
        },
    }
    return Truth(document, {pod: [round(at_s * 1000) for at_s in of_pod] for pod, of_pod in beats.items()})


def _parse(line: str, group: str, pods: Mapping[str, str], began_s: float) -> _Request | None:
    written_ms, _, rest = line.partition(" ")
    if f'"groupId":"{group}"' not in line or not any(f'"requestApiKeyName":"{kind}"' in line for kind in _KINDS):
        return None
    try:
        entry = json.loads(rest.partition(":")[2])
    except json.JSONDecodeError:
        return None  # the last line of a broker that ended
    header = entry["requestHeader"]
    address = entry["connection"].partition("-")[2].rpartition(":")[0]
    client = header["clientId"]
    pod = pods.get(address) or (client if client in pods.values() else f"{client} at {address}")
    answered_s = int(written_ms) / 1000 - began_s
    arrived_s = answered_s - entry["totalTimeMs"] / 1000
    return _Request(header["requestApiKeyName"], pod, arrived_s, answered_s, entry["request"], entry["response"])


def _is_accepted_beat(request: _Request) -> bool:
    if request.error != NONE:
        return False
    if request.kind in _BY_EPOCH:
        return request.asked["memberEpoch"] not in _LEAVING_EPOCHS
    return request.kind == "HEARTBEAT"


def _refusals(requests: Iterable[_Request]) -> dict[int, int]:
    """Return how many heartbeats got which error code."""
    codes = [request.error for request in requests if request.kind.endswith("HEARTBEAT") and request.error != NONE]
    return {code: codes.count(code) for code in sorted(set(codes))}


def _joins(requests: Sequence[_Request]) -> list[dict[str, Any]]:
    """Return the completed joins: in a classic group those whose assignment was handed out, too."""
    joins = []
    for request in requests:
        if request.kind == "SYNC_GROUP" and request.error == NONE:
            generation = request.asked["generationId"]
            asked = [
                join.arrived_s
                for join in requests
                if join.kind == "JOIN_GROUP" and join.error == NONE and join.answer["generationId"] == generation
            ]
            joins.append(
                {
                    "at_s": round(request.answered_s, 3),
                    "generation": generation,
                    "took_s": round(request.answered_s - min(asked), 3) if asked else None,
                }
            )
        elif request.kind in _BY_EPOCH and request.error == NONE and request.asked["memberEpoch"] == 0:
            joins.append({"at_s": round(request.answered_s, 3), "generation": request.answer["memberEpoch"]})
    return joins


def _leaves(requests: Iterable[_Request]) -> list[dict[str, Any]]:
    """Return who left of its own accord, when, and why, if it said so."""
    leaves = []
    for request in requests:
        if request.kind == "LEAVE_GROUP" and request.error == NONE:
            reasons = [str(member.get("reason") or "") for member in request.asked.get("members", [{}])]
            leaves.append({"at_s": round(request.arrived_s, 3), "pod": request.pod, "reason": "; ".join(reasons)})
        elif request.kind in _BY_EPOCH and request.asked["memberEpoch"] in _LEAVING_EPOCHS:
            leaves.append({"at_s": round(request.arrived_s, 3), "pod": request.pod, "reason": ""})
    return leaves


def _rebalances(requests: Iterable[_Request]) -> list[dict[str, Any]]:
    """Return the generations, or epochs, that the group was given, and when the first and the last member had them."""
    had: dict[int, list[tuple[float, str]]] = {}
    for request in requests:
        if request.error != NONE:
            continue
        if request.kind == "SYNC_GROUP":
            had.setdefault(request.asked["generationId"], []).append((request.answered_s, request.pod))
        elif request.kind in _BY_EPOCH and request.answer["memberEpoch"] > request.asked["memberEpoch"] >= 0:
            had.setdefault(request.answer["memberEpoch"], []).append((request.answered_s, request.pod))
    return [
        {
            "generation": generation,
            "first_s": round(min(given)[0], 3),
            "last_s": round(max(given)[0], 3),
            "pods": sorted({pod for _, pod in given}),
        }
        for generation, given in sorted(had.items())
    ]


def _evictions(
    requests: Iterable[_Request], broker_log: Iterable[str], group: str, began_s: float, ended_s: float
) -> list[dict[str, Any]]:
    """Return whom the coordinator gave up, when, and when the member learnt it, if it ever did."""
    owners: dict[str, str] = {}
    refused: list[_Request] = []
    for request in requests:
        for member in (request.asked.get("memberId"), request.answer.get("memberId")):
            if member:
                owners[member] = request.pod
        if request.error in _REFUSED_MEMBERS:
            refused.append(request)
    evictions = []
    for line in broker_log:
        found = _EXPIRED.match(line)
        if found is None or (found["group"] or found["group2"]) != group:
            continue
        at_s = datetime.fromisoformat(found["at"].replace(",", ".")).astimezone().timestamp() - began_s
        member = found["classic"] or found["consumer"]
        if 0 <= at_s <= ended_s - began_s:
            # A member of KIP-848 keeps its id: it may be given up, and learn it, several times. librdkafka's has none
            # any more when it asks.
            learnt = (
                round(item.arrived_s, 3)
                for item in refused
                if item.arrived_s >= at_s - _CLOCKS_S
                and item.pod == owners.get(member)
                and item.asked["memberId"] in {member, ""}
            )
            pod, learnt_s = owners.get(member), min(learnt, default=None)
            evictions.append({"at_s": round(at_s, 3), "pod": pod, "learnt_s": learnt_s})
    return evictions
