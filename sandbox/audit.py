"""Who wrote what to the API server: reads its audit log.

The control plane logs each finished create, update, patch and delete as one JSON line; tests count them ("nothing
changed, so nothing was written"). A line appears a moment after the writer has got its response: await counts that
should grow, and let a moment pass before counts that should not.
"""

import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

POLICY: Final[dict[str, Any]] = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived", "ResponseStarted", "Panic"],
    "rules": [
        {"level": "Metadata", "verbs": ["create", "update", "patch", "delete", "deletecollection"]},
        {"level": "None"},
    ],
}
"""The audit policy that makes the log this module reads."""


@dataclass(frozen=True)
class Write:
    """One write request that was answered, successfully or not."""

    user: str
    verb: str
    resource: str
    subresource: str
    namespace: str
    name: str
    time: datetime
    code: int
    user_agent: str


def writes(path: Path, *, since: datetime | None = None) -> list[Write]:
    """Return the logged writes in the order of the log; dry runs, which write nothing, are left out.

    Args:
        path: the audit log; need not exist yet.
        since: only requests received then or later (an aware time).
    """
    if not path.exists():
        return []
    complete, _, _ = path.read_text().rpartition("\n")  # the last line may still be being written
    events = [json.loads(line) for line in complete.splitlines()]
    found = [_write(event) for event in events if "dryRun=All" not in event["requestURI"]]
    return [write for write in found if since is None or write.time >= since]


def _write(event: dict[str, Any]) -> Write:
    target = event.get("objectRef", {})
    return Write(
        user=event["user"]["username"],
        verb=event["verb"],
        resource=target.get("resource", ""),
        subresource=target.get("subresource", ""),
        namespace=target.get("namespace", ""),
        name=target.get("name", ""),
        time=datetime.fromisoformat(event["requestReceivedTimestamp"]),
        code=event.get("responseStatus", {}).get("code", 0),
        user_agent=event.get("userAgent", ""),
    )
