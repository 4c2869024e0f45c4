"""What the API is told about pods with several containers, and after the node's restart."""

from datetime import UTC, datetime

import pytest

from sandbox.node.status import ContainerRecord, ContainerState, Running, Terminated, Waiting, phase, pod_status, recall

_NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
_UP = Running(_NOW)
_DONE = Terminated(0, "Completed", _NOW, _NOW)
_BROKEN = Terminated(1, "Error", _NOW, _NOW)
_NEW = Waiting("ContainerCreating")
_CRASHING = Waiting("CrashLoopBackOff")


def _record(state: ContainerState) -> ContainerRecord:
    last = _BROKEN if state is _CRASHING else None
    return ContainerRecord("app", "none", state, last=last, ready=state is _UP)


@pytest.mark.parametrize(
    ("states", "policy", "expected"),
    [
        ([_UP, _UP], "Always", "Running"),
        ([_UP, _NEW], "Always", "Pending"),
        ([_UP, _CRASHING], "Always", "Running"),
        ([_DONE], "Always", "Running"),  # it will be started again
        ([_DONE, _UP], "Never", "Running"),
        ([_DONE, _DONE], "OnFailure", "Succeeded"),
        ([_DONE, _BROKEN], "OnFailure", "Running"),
        ([_DONE, _BROKEN], "Never", "Failed"),
    ],
)
def test_the_phase_follows_all_containers(states: list[ContainerState], policy: str, expected: str) -> None:
    """A pod of two is not what one of them is; controllers replace or count pods by this."""
    assert phase([_record(state) for state in states], policy) == expected


def test_a_condition_keeps_its_time_until_it_changes() -> None:
    """MinReadySeconds is counted from it: rewritten times would keep a Deployment from becoming available."""
    then = "2020-01-01T00:00:00Z"
    before = [
        {"type": "Ready", "status": "True", "lastTransitionTime": then},
        {"type": "ContainersReady", "status": "False", "lastTransitionTime": then},
    ]
    conditions = {
        condition["type"]: condition for condition in pod_status([_record(_UP)], "Always", before)["conditions"]
    }
    assert conditions["Ready"]["lastTransitionTime"] == then
    assert conditions["ContainersReady"]["lastTransitionTime"] != then


@pytest.mark.parametrize("state", [_UP, _DONE, _BROKEN, _CRASHING])
def test_what_was_reported_is_recalled_as_ended(state: ContainerState) -> None:
    """After its restart the node must see that a container has run before, else the restart goes uncounted."""
    (reported,) = pod_status([_record(state)], "Always", [])["containerStatuses"]
    recalled = recall({"name": "app", "image": "none"}, reported)
    assert isinstance(recalled.state, Terminated)
    assert (recalled.state.exit_code == 0) is (state is _DONE)


def test_a_container_that_never_ran_is_new() -> None:
    """One that only waited for its ConfigMap has no restart to count."""
    (reported,) = pod_status([_record(_NEW)], "Always", [])["containerStatuses"]
    assert recall({"name": "app", "image": "none"}, reported).state == _NEW
