"""What is concluded from the watch history of pods."""

import json
from typing import Any

import pytest

from tests.support.pod_lives import VARIABLE, Life, documents, lives, shared


def event(version: int, name: str, kind: str = "MODIFIED", **fields: Any) -> dict[str, Any]:
    """Return an event of a watch; `id`, `gated`, `phase`, `containers` and `leaving` say what the pod is like."""
    env = [{"name": VARIABLE, "value": fields["id"]}] if "id" in fields else []
    spec: dict[str, Any] = {"containers": [{"name": "app", "env": env}]}
    if fields.get("gated"):
        spec["schedulingGates"] = [{"name": "g"}]
    metadata = {"name": name, "uid": f"uid-{name}", "resourceVersion": str(version)}
    if fields.get("leaving"):
        metadata["deletionTimestamp"] = "2026-03-01T12:00:00Z"
    status: dict[str, Any] = {"phase": fields.get("phase", "Running")}
    if "container" in fields:
        status["containerStatuses"] = [{"state": {fields["container"]: {}}}]
    return {"type": kind, "object": {"metadata": metadata, "spec": spec, "status": status}}


def test_a_life_lasts_from_the_gate_to_the_removal() -> None:
    """Who waits behind a gate does not run; who is Terminating does."""
    history = [
        event(1, "a", "ADDED", id="0"),
        event(2, "b", "ADDED", id="0", gated=True),
        event(3, "a", id="0", leaving=True),
        event(5, "a", "DELETED", id="0", leaving=True),
        event(6, "b", id="0"),
    ]
    assert lives(history) == [Life("a", "uid-a", "0", 1, 5), Life("b", "uid-b", "0", 6, None)]
    assert shared(lives(history)) == []


def test_a_gate_that_is_lifted_too_early_is_an_id_twice() -> None:
    """One version before the holder is removed is enough."""
    history = [
        event(1, "a", "ADDED", id="0"),
        event(2, "b", "ADDED", id="0", gated=True),
        event(4, "b", id="0"),
        event(5, "a", "DELETED", id="0", leaving=True),
        event(6, "c", "ADDED", id="1"),
    ]
    assert shared(lives(history)) == [("0", "a", "b")]
    assert shared(lives([*history, event(7, "d", "ADDED", id="0")])) == [("0", "a", "b"), ("0", "b", "d")]


@pytest.mark.parametrize(("container", "is_over"), [("terminated", True), ("running", False)])
def test_failed_alone_is_not_over(container: str, is_over: bool) -> None:  # noqa: FBT001 - a parameter of a case
    """The collector of lost pods sets it, whatever their containers do."""
    history = [event(1, "a", "ADDED", id="0"), event(2, "a", id="0", phase="Failed", container=container)]
    assert (lives(history)[0].until is not None) == is_over


def test_pods_without_an_id_share_none() -> None:
    """Dynamic members are no matter here."""
    assert lives([event(1, "a", "ADDED"), event(2, "b", "ADDED")]) == []


def test_a_document_that_is_still_being_written_waits() -> None:
    """The watch goes on while it is read."""
    text = json.dumps({"a": 1}, indent=1) + "\n" + json.dumps({"b": {"c": 2}}) + '\n{"d": '
    assert list(documents(text)) == [{"a": 1}, {"b": {"c": 2}}]
