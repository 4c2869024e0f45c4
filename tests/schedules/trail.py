"""What the API server's audit log says about two replicas: who held the lease, and what each write rested on. Pure."""

import dataclasses
import itertools
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from heartbeat_tuner.api.applied import ANNOTATION
from sandbox.audit import Write
from sandbox.environment import OPERATOR_USERS

_POLICIES = "consumergrouppolicies"
_FENCED = {("deployments", ""), (_POLICIES, "status")}
"""Resources and subresources whose writes name the version that they rest on; Events are new objects."""

_CONFLICT = 409


@dataclasses.dataclass(frozen=True)
class Trail:
    """All writes of one stretch of time.

    Attributes:
        holder: which replica had the lease when it began; empty for none.
        writes: in the order in which the API server received them, everyone's.
    """

    holder: str
    writes: Sequence[Write]

    @classmethod
    def of(cls, holder: str, writes: Sequence[Write]) -> "Trail":
        """Return the trail of writes in any order."""
        return cls(holder, sorted(writes, key=lambda write: write.time))

    @property
    def last_holder(self) -> str:
        """Which replica had the lease at the end, by the API server's record of it."""
        return [self.holder, *(holder for _, holder in self._with_holders())][-1]

    def claimed_since(self, user: str, moment: datetime) -> bool:
        """Whether a replica has claimed the lease, or renewed it, after a moment."""
        return any(
            write.time > moment
            for write in self._by_replicas()
            if (write.user, write.resource) == (user, "leases") and write.succeeded
        )

    def changes(self) -> int:
        """Count how often the lease went from one replica to another, or to one that lives again without its memory."""
        identities = [
            str(write.sent.get("spec", {}).get("holderIdentity") or "")
            for write in self._by_replicas()
            if write.resource == "leases" and write.succeeded
        ]
        held = [identity for identity in identities if identity]
        return sum(1 for before, after in itertools.pairwise(held) if before != after)

    def without_lease(self) -> list[Write]:
        """Return what replicas wrote, or may have written, while the lease was not theirs; Events apart.

        A write that left in time and lay on its way until another led is held against nobody where the versions of its
        object prove that it came to nothing.
        """
        return [write for write in self._late() if write.resource != "events" and not self._came_to_nothing(write)]

    def longest_pause_s(self, user: str) -> float:
        """Return the longest time between two writes of one who writes all the time; 0 with fewer than two."""
        times = [write.time for write in self.writes if write.user == user and write.resource == "deployments"]
        return max(((after - before).total_seconds() for before, after in itertools.pairwise(times)), default=0.0)

    def account(self) -> str:
        """Return a line for each claim of the lease and each late write: when, whose, answered with what."""
        shown = [*self._late(), *(write for write in self._by_replicas() if write.resource == "leases")]
        return "\n".join(
            f"{write.time.time()} {write.user} {write.code} {write.verb} {write.resource} {write.name} "
            f"{write.sent.get('spec', {}).get('holderIdentity', '')}".rstrip()
            for write in sorted(shown, key=lambda write: write.time)
        )

    def lost_on_the_way(self) -> int:
        """Count the late writes, without an answer, that came to nothing."""
        return sum(1 for write in self._late() if self._came_to_nothing(write))

    def late_events(self) -> int:
        """Count the Events that replicas wrote while the lease was not theirs: no version can refuse them."""
        return sum(1 for write in self._late() if write.resource == "events")

    def stale(self) -> list[Write]:
        """Return the replicas' writes that do not rest on the newest version of the very object they went to."""
        versions: dict[tuple[str, str, str], set[int]] = {}
        for write in self.writes:
            if write.succeeded and _version(write):
                versions.setdefault(_object(write), set()).add(_version(write))
        return [
            write
            for write in self._by_replicas()
            if (write.resource, write.subresource) in _FENCED and not _is_fresh(write, versions.get(_object(write), ()))
        ]

    def applies(self) -> dict[tuple[str, str], int]:
        """Count how often each Deployment was applied to, by namespace and name.

        By the answers that the replicas got, or by the notes that the Deployment bore, whichever are more: a replica
        that is cut off gets no answer to what was done, and two applies within a second bear the same note.
        """
        answered = Counter((write.namespace, write.name) for write in self._applies() if write.succeeded)
        notes: dict[tuple[str, str], set[str]] = {}
        for write in self.writes:
            note = write.stored.get("metadata", {}).get("annotations", {}).get(ANNOTATION)
            if write.succeeded and write.resource == "deployments" and note:
                notes.setdefault((write.namespace, write.name), set()).add(note)
        return {place: max(answered[place], len(notes.get(place, ()))) for place in {*answered, *notes}}

    def empty_entries(self) -> list[Write]:
        """Return the replicas' writes after which a Deployment has an entry of its environment without a value."""
        return [write for write in self._applies() if write.succeeded and any(map(_is_empty, _entries(write.stored)))]

    def untrue(self, *, within_s: float) -> list[Write]:
        """Return the statuses that call values applied which no Deployment had at that time, or shortly before.

        Args:
            within_s: how old what a replica has read may be when it writes a status.
        """
        return [write for write in self._by_replicas() if write.succeeded and self._is_untrue(write, within_s)]

    def unanswered(self) -> int:
        """Count the replicas' writes to Deployments of which they never learnt whether they were done."""
        return sum(1 for write in self._applies() if not write.succeeded)

    def refused(self) -> int:
        """Count the replicas' writes to Deployments that met another version."""
        return sum(
            1
            for write in self.writes
            if write.user in OPERATOR_USERS and write.resource == "deployments" and write.code == _CONFLICT
        )

    def applied_between(self) -> tuple[datetime, datetime]:
        """Return when the first and the last Deployment was first applied to; at least one was."""
        firsts = [times[0] for times in self._times_of_applies().values()]
        return min(firsts), max(firsts)

    def taken_back_between(self) -> list[tuple[datetime, datetime]]:
        """Return when each Deployment that was applied to several times was so first and last."""
        return [(times[0], times[-1]) for times in self._times_of_applies().values() if len(times) > 1]

    def _is_untrue(self, write: Write, within_s: float) -> bool:
        status = write.stored.get("status", {})
        answers = {item["type"]: item["status"] for item in status.get("conditions", ())}
        entries = status.get("applied", {}).get("entries")
        if write.resource != _POLICIES or answers.get("Applied") != "True" or entries is None:
            return False
        name = write.stored.get("spec", {}).get("workloadRef", {}).get("name")
        stood = [
            item
            for item in self.writes
            if (item.resource, item.namespace, item.name) == ("deployments", write.namespace, name)
            and item.succeeded
            and item.time <= write.time
            and item.stored.get("spec")
        ]
        newest = [item for item in stood if (write.time - item.time).total_seconds() > within_s][-1:]
        recent = [item for item in stood if (write.time - item.time).total_seconds() <= within_s]
        # Where values were taken back, those before may stand elsewhere, and no entry is what was written.
        return not any(
            {entry["name"]: entry.get("value") for entry in _entries(item.stored)} == entries
            for item in (*newest, *recent)
        )

    def _times_of_applies(self) -> dict[tuple[str, str], list[datetime]]:
        times: dict[tuple[str, str], list[datetime]] = {}
        for write in self._applies():
            times.setdefault((write.namespace, write.name), []).append(write.time)
        return times

    def _applies(self) -> Iterator[Write]:
        return (write for write in self._by_replicas() if write.resource == "deployments")

    def _by_replicas(self) -> Iterator[Write]:
        """Yield what replicas wrote, or may have written."""
        return (write for write in self.writes if write.user in OPERATOR_USERS and not write.refused)

    def _late(self) -> Iterator[Write]:
        return (write for write, holder in self._with_holders() if write.resource != "leases" and write.user != holder)

    def _came_to_nothing(self, write: Write) -> bool:
        """Whether nobody was told if it was done, and it cannot have been.

        Of two writes that rest on one version only one is done, and none on a version that was replaced before.
        """
        rests_on = write.sent.get("metadata", {}).get("resourceVersion")
        if write.succeeded or not rests_on:
            return False
        others = [item for item in self.writes if item.succeeded and _object(item) == _object(write)]
        return any(
            other.sent.get("metadata", {}).get("resourceVersion") == rests_on
            or (other.time < write.time and _version(other) > int(rests_on))
            for other in others
        )

    def _with_holders(self) -> Iterator[tuple[Write, str]]:
        holder = self.holder
        for write in self._by_replicas():
            if write.resource == "leases" and write.succeeded:
                holder = write.user if write.sent["spec"].get("holderIdentity") else ""
            yield write, holder


def _entries(workload: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Return the environment of a workload's containers."""
    containers = workload.get("spec", {}).get("template", {}).get("spec", {}).get("containers", ())
    return [entry for container in containers for entry in container.get("env", ())]


def _is_empty(entry: Mapping[str, Any]) -> bool:
    return not entry.get("value") and "valueFrom" not in entry


def _object(write: Write) -> tuple[str, str, str]:
    return write.resource, write.namespace, write.name


def _version(write: Write) -> int:
    """Return the version that a write made; 0 where that is not known."""
    return int(write.stored.get("metadata", {}).get("resourceVersion") or 0)


def _is_fresh(write: Write, versions: Collection[int]) -> bool:
    """Whether a write named the object's uid and its version, and no other version lies between that and its own."""
    asked = write.sent.get("metadata", {})
    if not asked.get("uid") or not asked.get("resourceVersion"):
        return False
    if not write.succeeded:
        return True  # whether it was done, and as which version, nobody was told
    stored, rests_on = write.stored["metadata"], int(asked["resourceVersion"])
    between = any(rests_on < version < int(stored["resourceVersion"]) for version in versions)
    return asked["uid"] == stored["uid"] and not between
