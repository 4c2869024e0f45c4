"""What the annotations of a stop mean: pure.

`fleet-stopped` has the stop as JSON; any other text there is a person's, who stops the fleet by hand. `resumed` asks to
go on: the leader takes it away and notes since when, in `fleet-resumed-at`. No text means "go on" by mistake, since
what cannot be read is a stop.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from heartbeat_tuner.domain import durations
from heartbeat_tuner.ports.fleet_stops import FleetStop, StopNote

STOPPED: Final = "heartbeat-tuner.dev/fleet-stopped"
RESUMED_AT: Final = "heartbeat-tuner.dev/fleet-resumed-at"
RESUMED: Final = "resumed"

LONGEST_TEXT: Final = 500
"""Characters of a person's text that are repeated."""


def note_of(body: Mapping[str, Any]) -> StopNote:
    """Return what the annotations of the Lease say."""
    annotations = body["metadata"].get("annotations") or {}
    text = annotations.get(STOPPED)
    resumed_at = durations.moment_of(annotations.get(RESUMED_AT))
    if text is None or text == RESUMED:
        return StopNote(asked_to_resume=text == RESUMED, resumed_at=resumed_at)
    return StopNote(_stop(text), resumed_at=resumed_at)


def _stop(text: str) -> FleetStop:
    """Return the stop that a text stands for; whatever is not ours is a person's words."""
    try:
        document = json.loads(text)
        namespaces = document["namespaces"]
        since = durations.moment_of(document["since"])
        message = document["message"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return FleetStop(f"{STOPPED} says {text[:LONGEST_TEXT]}")
    if since is None or not isinstance(message, str) or not _are_names(namespaces):
        return FleetStop(f"{STOPPED} says {text[:LONGEST_TEXT]}")
    return FleetStop(message[:LONGEST_TEXT], since, frozenset(namespaces))


def _are_names(namespaces: object) -> bool:
    return isinstance(namespaces, list) and all(isinstance(namespace, str) for namespace in namespaces)


def annotations_of(note: StopNote) -> dict[str, str]:
    """Return the annotations that say it."""
    annotations: dict[str, str] = {}
    stop = note.stop
    if stop is not None and stop.since is not None:
        document = {
            "since": stop.since.isoformat(),
            "namespaces": sorted(stop.namespaces),
            "message": str(stop.message),
        }
        annotations[STOPPED] = json.dumps(document)
    if note.resumed_at is not None:
        annotations[RESUMED_AT] = note.resumed_at.isoformat()
    return annotations
