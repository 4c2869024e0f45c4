"""When could each pod have a process, and with which static id? Replayed from what an API server's watch told.

Pure: the events of one watch on pods in, lives out. The order of events is that of the resource versions, so two lives
that overlap are two pods which the API server's own history lets run at one moment.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

VARIABLE: Final = "KAFKA_GROUP_INSTANCE_ID"

_ENDED: Final = frozenset({"Succeeded", "Failed"})


@dataclass(frozen=True)
class Life:
    """From which version to which a pod with a static id could have a process.

    Attributes:
        pod: its name.
        uid: its uid.
        instance_id: its consumer's static id.
        since: the resource version at which nothing held it back any more.
        until: the one at which it was over; None where it was not by the end of the history.
    """

    pod: str
    uid: str
    instance_id: str
    since: int
    until: int | None

    def meets(self, other: "Life") -> bool:
        """Whether both could have a process at one version."""
        return (self.until is None or other.since < self.until) and (other.until is None or self.since < other.until)


def lives(events: Iterable[Mapping[str, Any]]) -> list[Life]:
    """Return the lives of pods with static ids, in the order of their beginnings.

    A pod lives from when it is stored without a scheduling gate, whether or not it has a node yet, to when it is
    removed, or has ended with all its containers. A Terminating pod lives, and so does one that is `Failed` only
    because its node is lost: its containers may run there.

    Args:
        events: of one watch, as JSON, from before the first of these pods.
    """
    found: dict[str, Life] = {}
    for event in events:
        pod = event["object"]
        uid, version = pod["metadata"]["uid"], int(pod["metadata"]["resourceVersion"])
        may_run = event["type"] != "DELETED" and not _waits(pod) and not _is_over(pod)
        known = found.get(uid)
        if known is None and may_run and instance_id(pod):
            found[uid] = Life(pod["metadata"]["name"], uid, instance_id(pod), version, None)
        elif known is not None and known.until is None and not may_run:
            found[uid] = Life(known.pod, uid, known.instance_id, known.since, version)
    return list(found.values())


def shared(found: Iterable[Life]) -> list[tuple[str, str, str]]:
    """Return (static id, pod, other pod) of each two lives with one id that overlap."""
    ordered = sorted(found, key=lambda life: life.since)
    return [
        (item.instance_id, item.pod, other.pod)
        for number, item in enumerate(ordered)
        for other in ordered[number + 1 :]
        if item.instance_id == other.instance_id and item.meets(other)
    ]


def instance_id(pod: Mapping[str, Any]) -> str:
    """Return the static id in the environment of a pod's consumer; empty where there is none."""
    entries = pod["spec"]["containers"][0].get("env", ())
    return next((entry["value"] for entry in entries if entry["name"] == VARIABLE), "")


def documents(text: str) -> Iterator[dict[str, Any]]:
    """Yield the JSON documents that follow each other in a text; one that is not complete yet is left out."""
    decoder, at = json.JSONDecoder(), 0
    while (at := text.find("{", at)) >= 0:
        try:
            document, at = decoder.raw_decode(text, at)
        except json.JSONDecodeError:
            return
        yield document


def _waits(pod: Mapping[str, Any]) -> bool:
    return bool(pod["spec"].get("schedulingGates"))


def _is_over(pod: Mapping[str, Any]) -> bool:
    status = pod.get("status", {})
    containers = status.get("containerStatuses", ())
    return status.get("phase") in _ENDED and all("terminated" in container.get("state", {}) for container in containers)
