"""What is put into a pod, and the patch that makes it so."""

import copy
from typing import Any

import pytest

from heartbeat_tuner.webhook.admission import injection
from tests.support import reviews
from tests.support.reviews import VARIABLE


def patched(before: dict[str, Any], after: injection.Pod) -> dict[str, Any]:
    """Return what the patch makes of a pod."""
    return reviews.patched(before, injection.patch(before, after))


@pytest.mark.parametrize(("container", "others"), [("app", [{"name": "OTHER", "value": "1"}]), ("sidecar", [])])
def test_a_new_variable_comes_first_in_its_container_alone(container: str, others: list[Any]) -> None:
    """Also where the container has none."""
    pod = reviews.pod()
    changed = patched(pod, injection.with_variables(pod, container, {VARIABLE: "x", "Z": "1"}))
    after = {container["name"]: container.get("env", []) for container in changed["spec"]["containers"]}
    before = {container["name"]: container.get("env", []) for container in pod["spec"]["containers"]}
    assert after == {**before, container: [{"name": VARIABLE, "value": "x"}, {"name": "Z", "value": "1"}, *others]}


def test_a_variable_that_is_there_is_set_in_its_place() -> None:
    """Whatever it came from, and however often it stands there."""
    pod = reviews.pod()
    pod["spec"]["containers"][1]["env"] = [
        {"name": "A", "value": "1"},
        {"name": "S", "valueFrom": {"configMapKeyRef": {"name": "m", "key": "k"}}},
        {"name": "B", "value": "$(S)"},
        {"name": "S", "value": "2"},
    ]
    changed = patched(pod, injection.with_variables(pod, "app", {"S": "3"}))
    assert changed["spec"]["containers"][1]["env"] == [
        {"name": "A", "value": "1"},
        {"name": "S", "value": "3"},
        {"name": "B", "value": "$(S)"},
        {"name": "S", "value": "3"},
    ]


def test_who_has_no_such_container_stays_as_he_is() -> None:
    """And nothing is to be patched."""
    pod = reviews.pod()
    assert injection.patch(pod, injection.with_variables(pod, "nobody", {VARIABLE: "x"})) == []


def test_a_pod_is_never_changed_itself() -> None:
    """The review still has what was asked for."""
    pod = reviews.pod()
    before = copy.deepcopy(pod)
    after = injection.with_gate(injection.with_variables(pod, "app", {VARIABLE: "x"}), "g")
    injection.with_marks(after, "labels", {"a": "1"})
    assert pod == before


def test_own_variables_are_seen_in_the_container_that_counts() -> None:
    """Literal, or taken from somewhere else."""
    pod = reviews.pod()
    assert injection.has_variable(pod, "app", "OTHER")
    assert not injection.has_variable(pod, "app", VARIABLE)
    assert not injection.has_variable(pod, "sidecar", "OTHER")
    assert not injection.has_variable(pod, "nobody", "OTHER")
    assert injection.container(pod, "app") is pod["spec"]["containers"][1]
    assert injection.container(pod, "nobody") is None


def test_marks_are_added_to_those_that_are_there() -> None:
    """Names with slashes and tildes, too."""
    given = {"a.dev/b": "1", "c~d": "2"}
    for before in (None, {}, {"a.dev/b": "old", "mine": "3"}):
        pod = reviews.pod(annotations=before)
        changed = patched(pod, injection.with_marks(pod, "annotations", given))
        assert changed["metadata"]["annotations"] == {**(before or {}), **given}


def test_a_gate_is_added_to_those_that_are_there() -> None:
    """Others' gates stay."""
    pod = reviews.pod()
    gated = patched(pod, injection.with_gate(pod, "a"))
    assert gated["spec"]["schedulingGates"] == [{"name": "a"}]
    twice = patched(gated, injection.with_gate(gated, "b"))
    assert twice["spec"]["schedulingGates"] == [{"name": "a"}, {"name": "b"}]
