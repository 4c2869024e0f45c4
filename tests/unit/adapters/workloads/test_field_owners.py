"""What is ours in a workload, by who owns what of its entries."""

import copy
from datetime import UTC, datetime
from typing import Any

import pytest

from heartbeat_tuner.adapters.workloads import field_owners
from heartbeat_tuner.domain.evidence import Holdings
from tests.support import manifests as made

US = "heartbeat-tuner"
NAME = "S"


def claim(manager: str, *parts: str, operation: str = "Apply", name: str = NAME) -> dict[str, Any]:
    """Return an entry of `managedFields` that covers these parts of one env entry."""
    entry = copy.deepcopy(made.owned(manager, name))
    fields: Any = entry["fieldsV1"]
    for step in ("f:spec", "f:template", "f:spec", "f:containers", 'k:{"name":"app"}', "f:env"):
        fields = fields[step]
    fields[f'k:{{"name":"{name}"}}'] = {part: {} for part in parts}
    return {**entry, "operation": operation}


OURS = claim(US, ".", "f:name", "f:value")
OUR_NAME = claim(US, ".", "f:name")
THEIRS = claim("flux", ".", "f:name", "f:value")
MERGED = claim("kubectl-set", "f:value", operation="Update")


def found(entry: dict[str, Any], *claims: dict[str, Any]) -> Holdings:
    """Return what is held of a workload with one env entry."""
    workload = made.deployment(*claims)
    workload["metadata"]["uid"] = "workload-1"
    workload["spec"]["template"] = {"spec": {"containers": [{"name": "app", "env": [entry]}]}}
    return field_owners.holdings_of(workload, "app", kind="Deployment", us=US)


@pytest.mark.parametrize(
    ("entry", "claims", "valid", "overruled", "empty"),
    [
        ({"value": "1"}, [OURS], {NAME: "1"}, {}, ()),
        ({"value": "1"}, [THEIRS], {}, {}, ()),
        ({"value": "1"}, [OUR_NAME, THEIRS], {}, {NAME: "flux"}, ()),
        ({"value": "1"}, [OURS, THEIRS], {}, {NAME: "flux"}, ()),  # both applied the same value
        ({"valueFrom": {}}, [OUR_NAME, claim("flux", ".", "f:name", "f:valueFrom")], {}, {NAME: "flux"}, ()),
        ({"value": "1"}, [OUR_NAME, MERGED], {NAME: ""}, {}, ()),  # to let go of it would take their value out
        ({"value": "1"}, [OURS, claim("flux", ".", "f:name")], {NAME: "1"}, {}, ()),
        ({}, [OUR_NAME], {}, {}, (NAME,)),
        ({}, [OUR_NAME, claim("flux", ".", "f:name")], {}, {NAME: "flux"}, ()),
        ({"value": "1"}, [claim(US, ".", "f:name", operation="Update")], {}, {}, ()),  # not by an apply of ours
        ({"valueFrom": {}}, [OUR_NAME], {}, {}, ()),
    ],
)
def test_an_entry_is_kept_overruled_or_empty(
    entry: dict[str, Any], claims: list[dict[str, Any]], valid: dict[str, str], overruled: dict[str, str], empty: Any
) -> None:
    """By who has the entry itself, and who its value."""
    held = found({"name": NAME, **entry}, *claims)
    assert held.kept == ({"app": valid} if valid else {})
    assert held.overruled == ({"app": overruled} if overruled else {})
    assert held.empty == ({"app": empty} if empty else {})
    assert held.standing == {NAME: entry.get("value")}


def test_who_else_has_a_value_is_known() -> None:
    """For the sentence that names whom to talk to."""
    assert found({"name": NAME, "value": "1"}, OUR_NAME, MERGED).values_of == {NAME: "kubectl-set"}
    assert found({"name": NAME, "value": "1"}, OURS).values_of == {}


def test_entries_we_own_are_found_in_every_container() -> None:
    """An apply that forgot those of another container would give them up, and with them its cure."""
    workload = made.deployment(made.owned(US, "A", "B"), made.owned(US, "A", container="two"))
    workload["metadata"]["uid"] = "workload-1"
    containers = [
        {"name": "app", "env": [{"name": "A", "value": "1"}, {"name": "C", "value": "3"}]},
        {"name": "two", "env": [{"name": "A", "value": "2"}]},
        {"name": "three"},
    ]
    workload["spec"]["template"] = {"spec": {"containers": containers}}
    held = field_owners.holdings_of(workload, "gone", kind="Deployment", us=US)
    assert (held.kept, held.standing) == ({"app": {"A": "1"}, "two": {"A": "2"}}, None)
    assert field_owners.holdings_of(workload, "two", kind="Deployment", us="helm").kept == {}


@pytest.mark.parametrize(
    ("times", "at"),
    [
        (("2026-03-02T11:00:00Z", "2026-03-02T12:00:00Z"), datetime(2026, 3, 2, 12, tzinfo=UTC)),
        (("2026-03-02T12:00:00Z", None), None),  # who has no time may have been the last
        ((), None),
    ],
)
def test_when_the_template_was_changed_last_is_known(times: tuple[str | None, ...], at: datetime | None) -> None:
    """By all managers together; steps of scale are changes of nothing there."""
    claims = [{**claim(f"m{n}", "."), **({} if time is None else {"time": time})} for n, time in enumerate(times)]
    scaled = {"manager": "hpa", "time": "2026-03-02T13:00:00Z", "fieldsV1": {"f:spec": {"f:replicas": {}}}}
    assert found({"name": NAME, "value": "1"}, *claims, scaled).template_at == at
