"""What the broker says of one group: its rebalances, its partitions, and how long each of them stood still."""

import itertools
import json
import time
from collections import defaultdict
from pathlib import Path
from typing import Any, Final

from confluent_kafka.admin import AdminClient

_JOIN: Final = "JOIN_GROUP"
_DESCRIBE: Final = "CONSUMER_GROUP_DESCRIBE"
_COMMIT: Final = "OFFSET_COMMIT"
_MARKS: Final = tuple(f'"requestApiKeyName":"{kind}"' for kind in (_JOIN, _DESCRIBE, _COMMIT))


class GroupRecord:
    """Follows the broker's request log, in which it writes what it answered.

    Args:
        log: the request log.
        bootstrap: the broker.
        group_id: of the group.
    """

    def __init__(self, log: Path, bootstrap: str, group_id: str) -> None:
        self._log = log
        self._group_id = group_id
        self._offset = 0
        self._admin = AdminClient({"bootstrap.servers": bootstrap})
        self._generation = 0
        self._epoch = 0
        self._progress: defaultdict[int, list[float]] = defaultdict(list)
        self._committed: dict[int, int] = {}

    def rebalances(self) -> int:
        """Return how many rebalances there were since the group began.

        Of a classic group its generation: `request_log.rebalances` would not do, since a static member that comes back
        is told the generation that there is, which is none that was made. Under KIP-848 the group's epoch, which grows
        with each change of its members, and for which partitions are assigned again.
        """
        self.assignment()  # under KIP-848 the epoch is in the coordinator's answer to this
        self._read()
        return max(self._generation, self._epoch)

    def assignment(self) -> dict[str, frozenset[tuple[str, int]]]:
        """Return the members' partitions by their static id, else their member id, as the coordinator has them."""
        found = self._admin.describe_consumer_groups([self._group_id], request_timeout=10)[self._group_id].result(15)
        return {
            member.group_instance_id or member.member_id: frozenset(
                (part.topic, part.partition)
                for part in (member.assignment.topic_partitions if member.assignment else ())
            )
            for member in found.members
        }

    def longest_stop_s(self, since_s: float, until_s: float) -> float:
        """Return the longest time in a window in which some partition's committed offset did not grow.

        Something must be produced to all partitions all the time, more often than offsets are committed.

        Args:
            since_s: the window's beginning, seconds since 1970.
            until_s: its end, by which commits are in the log.
        """
        self._read()
        return max(
            later - earlier
            for times in self._progress.values()
            for earlier, later in itertools.pairwise([since_s, *(t for t in times if since_s < t < until_s), until_s])
        )

    def partitions(self) -> int:
        """Return of how many partitions offsets were committed so far."""
        self._read()
        return len(self._progress)

    def progressed_since(self, moment_s: float) -> bool:
        """Whether the committed offset of each partition known so far has grown since a moment."""
        self._read()
        return all(times[-1] > moment_s for times in self._progress.values())

    def _read(self) -> None:
        with self._log.open("rb") as log:
            log.seek(self._offset)
            complete, newline, _ = log.read().rpartition(b"\n")
        self._offset += len(complete) + len(newline)
        for line in complete.decode(errors="replace").splitlines():
            if self._group_id in line and any(mark in line for mark in _MARKS):
                written_ms, _, rest = line.partition(" ")
                self._take(int(written_ms) / 1000, json.loads(rest.partition(":")[2]))

    def _take(self, at_s: float, entry: dict[str, Any]) -> None:
        kind, request, response = entry["requestHeader"]["requestApiKeyName"], entry["request"], entry["response"]
        if kind == _DESCRIBE:
            for group in response["groups"]:
                if group["groupId"] == self._group_id:
                    self._epoch = max(self._epoch, group["groupEpoch"])
        elif request["groupId"] != self._group_id:
            return
        elif kind == _JOIN and response["errorCode"] == 0:
            self._generation = max(self._generation, response["generationId"])
        elif kind == _COMMIT:
            self._take_commit(at_s, request, response)

    def _take_commit(self, at_s: float, request: dict[str, Any], response: dict[str, Any]) -> None:
        refused = {
            part["partitionIndex"]
            for topic in response["topics"]
            for part in topic["partitions"]
            if part["errorCode"] != 0
        }
        for part in (part for topic in request["topics"] for part in topic["partitions"]):
            number, offset = part["partitionIndex"], part["committedOffset"]
            if number not in refused and offset > self._committed.get(number, 0):
                self._committed[number] = offset
                self._progress[number].append(at_s)


def await_log() -> None:
    """Wait until what was answered stands in the request log."""
    time.sleep(1)
