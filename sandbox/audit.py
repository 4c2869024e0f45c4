"""Who wrote what to the API server: reads its audit log.

The control plane logs each finished create, update, patch and delete as one JSON line; tests count them ("nothing
changed, so nothing was written"). A line appears a moment after the writer has got its response: await counts that
should grow, and let a moment pass before counts that should not. A watch appears when it has ended.

Of the service accounts of one namespace it logs what they read, too, and which right each request was allowed by.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

ACCOUNTS_NAMESPACE: Final = "heartbeat-tuner"
"""Whose service accounts are watched at every step."""

_WRITING: Final = frozenset({"create", "update", "patch", "delete", "deletecollection"})

_RECEIVED: Final = '"requestReceivedTimestamp":"'
_TO_THE_SECOND: Final = len("2026-03-01T12:00:00")

_ALLOWED_BY: Final = re.compile(r'RBAC: allowed by \w+ "[^"]+" of (?P<kind>\w+) "(?P<name>[^"]+)" to ')

POLICY: Final[dict[str, Any]] = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived", "ResponseStarted", "Panic"],
    "rules": [
        {
            "level": "RequestResponse",
            "verbs": ["create", "update", "patch", "delete"],
            "resources": [
                {"group": "apps", "resources": ["deployments", "deployments/status"]},
                {"group": "coordination.k8s.io", "resources": ["leases"]},
                {
                    "group": "heartbeat-tuner.dev",
                    "resources": ["consumergrouppolicies", "consumergrouppolicies/status"],
                },
            ],
            "omitManagedFields": True,
        },
        {"level": "Metadata", "userGroups": [f"system:serviceaccounts:{ACCOUNTS_NAMESPACE}"]},
        {"level": "Metadata", "verbs": sorted(_WRITING)},
        {"level": "None"},
    ],
}
"""The audit policy that makes the log this module reads: with bodies where a fence or an election shows in them."""


@dataclass(frozen=True)
class Write:
    """One write request that was answered, successfully or not.

    Attributes:
        time: when the API server received it.
        sent: its body; empty where the policy asks for none.
        stored: the object after it, or the refusal; likewise.
    """

    user: str
    verb: str
    resource: str
    subresource: str
    namespace: str
    name: str
    time: datetime
    code: int
    user_agent: str
    sent: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    stored: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def succeeded(self) -> bool:
        """Whether the writer was told that it was done."""
        return HTTPStatus.OK <= self.code < HTTPStatus.MULTIPLE_CHOICES

    @property
    def refused(self) -> bool:
        """Whether it was surely not done; where it is neither (the connection was lost), nobody was told."""
        return HTTPStatus.BAD_REQUEST <= self.code < HTTPStatus.INTERNAL_SERVER_ERROR


class Tail:
    """Reads a log as it grows, from where it ends now: each line once.

    Args:
        path: the audit log; need not exist yet.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read = path.stat().st_size if path.exists() else 0

    def writes(self) -> list[Write]:
        """Return what was logged since the last call, in the order of the log."""
        if not self._path.exists():
            return []
        with self._path.open("rb") as log:
            log.seek(self._read)
            complete, end, _ = log.read().rpartition(b"\n")
        self._read += len(complete) + len(end)
        return _parsed(complete.decode().splitlines())


@dataclass(frozen=True)
class Access:
    """One request for a resource of who is watched at every step, and what the authorizer said to it.

    Attributes:
        group: of the resource's API; empty for the core.
        role: kind and name of the role that allowed it; None where it was refused.
        made: whether it made the object, which a patch or an update needs a right of its own for.
    """

    user: str
    verb: str
    group: str
    resource: str
    namespace: str
    name: str
    role: tuple[str, str] | None
    made: bool


def accesses(path: Path) -> list[Access]:
    """Return what the service accounts of `ACCOUNTS_NAMESPACE` asked for, in the order of the log."""
    group = f"system:serviceaccounts:{ACCOUNTS_NAMESPACE}"
    events = map(json.loads, path.read_text().rpartition("\n")[0].splitlines())
    return [_access(event) for event in events if group in event["user"].get("groups", ()) and "objectRef" in event]


def _access(event: dict[str, Any]) -> Access:
    target, said = event["objectRef"], event["annotations"]["authorization.k8s.io/reason"]
    allowed = _ALLOWED_BY.match(said)
    subresource = target.get("subresource")
    return Access(
        user=event["user"]["username"],
        verb=event["verb"],
        group=target.get("apiGroup", ""),
        resource=f"{target['resource']}/{subresource}" if subresource else target["resource"],
        namespace=target.get("namespace", ""),
        name=target.get("name", ""),
        role=(allowed["kind"], allowed["name"]) if allowed else None,
        made=event.get("responseStatus", {}).get("code") == HTTPStatus.CREATED,
    )


def writes(path: Path, *, since: datetime | None = None, namespace: str = "") -> list[Write]:
    """Return the logged writes in the order of the log; dry runs, which write nothing, are left out.

    Args:
        path: the audit log; need not exist yet.
        since: only requests received then or later (an aware time).
        namespace: only requests about objects there; everywhere if empty.
    """
    if not path.exists():
        return []
    complete, _, _ = path.read_text().rpartition("\n")  # the last line may still be being written
    lines = (line for line in complete.splitlines() if namespace in line and not _is_before(line, since))
    return [
        write
        for write in _parsed(lines)
        if (since is None or write.time >= since) and namespace in {"", write.namespace}
    ]


def _is_before(line: str, since: datetime | None) -> bool:
    """Whether a line is surely of a request before a time; parsing all lines would take most of a test's own work."""
    begins = line.rfind(_RECEIVED)
    if since is None or begins < 0:
        return False
    begins += len(_RECEIVED)
    return line[begins : begins + _TO_THE_SECOND] < since.astimezone(UTC).isoformat()[:_TO_THE_SECOND]


def _parsed(lines: Iterable[str]) -> list[Write]:
    events = map(json.loads, lines)
    done = (event for event in events if event["verb"] in _WRITING and "dryRun=All" not in event["requestURI"])
    return [_write(event) for event in done]


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
        sent=event.get("requestObject") or {},
        stored=event.get("responseObject") or {},
    )
