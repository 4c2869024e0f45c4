"""What the tuner holds in a workload, from `managedFields`: pure.

An entry of a container's environment has a name and a value, each with owners of its own. A manager that takes a value
over by a forced apply leaves us the name. Once it drops its line, an entry without a value stays, which hides what
`envFrom` brings. So we have to let go of an entry that another manager has too, with its value.

A manager that merges (`kubectl apply`, `set env`, `edit`, Helm 3) has the value alone, and the entry is still ours: to
let go of it would take it out, with their value. They take an entry out as a whole: holding its name does no harm.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from heartbeat_tuner.adapters.workloads import manifests, rollout_state
from heartbeat_tuner.api import applied
from heartbeat_tuner.domain.evidence import Holdings

_VALUES: Final = ("f:value", "f:valueFrom")
_UNNAMED: Final = "an unnamed manager"


class _Claim(NamedTuple):
    """What one manager owns of one entry."""

    manager: str
    applied: bool
    entry: bool
    value: bool


def holdings_of(workload: Mapping[str, Any], container: str, *, kind: str, us: str) -> Holdings:
    """Return what manager `us` holds in a workload.

    Args:
        workload: the Deployment, StatefulSet or Rollout.
        container: the policy's, whose entries are wanted as they stand.
        kind: Deployment, StatefulSet or Rollout.
        us: our field manager.
    """
    held: dict[str, dict[str, str]] = {}
    overruled: dict[str, dict[str, str]] = {}
    empty: dict[str, tuple[str, ...]] = {}
    values_of: dict[str, str] = {}
    standing: dict[str, str | None] | None = None
    for spec in workload["spec"]["template"]["spec"]["containers"]:
        entries = {entry["name"]: entry for entry in spec.get("env", ())}  # of two with one name the last counts
        claims = _claims(workload, spec["name"])
        if spec["name"] == container:
            standing = {name: entry.get("value") for name, entry in entries.items()}
            values_of = {name: owner for name in entries if (owner := _owner(claims.get(name, ()), us))}
        for name, entry in entries.items():
            ours = [claim for claim in claims.get(name, ()) if claim.manager == us and claim.applied]
            others = [claim for claim in claims.get(name, ()) if claim.manager != us]
            if not ours:
                continue
            owner, elsewhere = _owner(others, us), next((claim.manager for claim in others if claim.entry), None)
            has_value = "value" in entry or "valueFrom" in entry
            if elsewhere is not None and (owner is not None or not has_value):
                overruled.setdefault(spec["name"], {})[name] = owner or elsewhere
            elif not has_value:
                empty[spec["name"]] = (*empty.get(spec["name"], ()), name)
            elif owner is not None or "value" in entry:
                held.setdefault(spec["name"], {})[name] = entry["value"] if owner is None else ""
    metadata = workload["metadata"]
    return Holdings(
        kept=held,
        overruled=overruled,
        empty=empty,
        standing=standing,
        values_of=values_of,
        applications=applied.from_annotation(
            metadata.get("annotations", {}).get(applied.ANNOTATION), workload_uid=metadata["uid"]
        ),
        uid=metadata["uid"],
        revision=rollout_state.revision_of(workload, kind),
        containers=tuple(spec["name"] for spec in workload["spec"]["template"]["spec"]["containers"]),
        failed=applied.from_failed_annotation(
            metadata.get("annotations", {}).get(applied.FAILED_ANNOTATION), workload_uid=metadata["uid"]
        ),
        template_at=manifests.template_at(workload),
    )


def _owner(claims: Iterable[_Claim], us: str) -> str | None:
    """Return a manager other than `us` that has the value; None if there is none."""
    return next((claim.manager for claim in claims if claim.manager != us and claim.value), None)


def _claims(workload: Mapping[str, Any], container: str) -> dict[str, tuple[_Claim, ...]]:
    """Return what everybody owns of the entries of a container, by name."""
    claims: dict[str, tuple[_Claim, ...]] = {}
    for entry in workload["metadata"].get("managedFields", ()):
        manager, is_applied = entry.get("manager", _UNNAMED), entry.get("operation") == "Apply"
        for name, fields in manifests.owned_entries(entry.get("fieldsV1", {}), container):
            claim = _Claim(manager, is_applied, "." in fields, any(field in fields for field in _VALUES))
            claims[name] = (*claims.get(name, ()), claim)
    return claims
