"""What `revert` writes, and when it writes nothing."""

from typing import Any

import pytest

from heartbeat_tuner.cli.kubectl import taking_back, workload_selectors
from heartbeat_tuner.cli.kubectl.taking_back import NothingToRevertError
from heartbeat_tuner.cli.reporting import reported_policies
from heartbeat_tuner.domain.policies import Application, ObjectKey, Policy, WorkloadRef
from tests.support import reports, worlds
from tests.support.worlds import NOW

UID = reports.policy()["status"]["applied"]["workloadUid"]
AT = reports.policy()["status"]["applied"]["changeTime"]
NEW, OLD = {"SESSION": "30000", "BEAT": "1000"}, {"SESSION": "1000"}


def policy(**changes: Any) -> Policy:
    """Return a policy whose last change has other fields."""
    applied = {**reports.policy()["status"]["applied"], "container": "app", "entries": NEW, "previousEntries": OLD}
    (view,), _ = reported_policies.read([reports.policy(applied={**applied, **changes})], NOW)
    return view.policy


def deployment(env: dict[str, str], *, uid: str = UID) -> dict[str, Any]:
    """Return the policy's Deployment with these values."""
    entries = [{"name": name, "value": value} for name, value in env.items()]
    containers = [{"name": "sidecar"}, {"name": "app", "env": [*entries, {"name": "POD", "valueFrom": {}}]}]
    return {
        "metadata": {"uid": uid, "resourceVersion": "7"},
        "spec": {"template": {"spec": {"containers": containers}}},
    }


def patch_of(found: Policy, workload: dict[str, Any]) -> taking_back.TemplatePatch:
    """Return what takes the last change out of the policy's Deployment."""
    ((ref, application),) = taking_back.last_change(found).items()
    patch = taking_back.template_patch(ref, application, workload)
    assert not isinstance(patch, str), patch
    return patch


def test_the_values_before_are_written_and_added_entries_go() -> None:
    """To the version of the object that was read, and to no other."""
    found = patch_of(policy(), deployment(NEW))
    env = [{"name": "SESSION", "value": "1000"}, {"name": "BEAT", "$patch": "delete"}]
    assert found.patch == {
        "metadata": {"resourceVersion": "7"},
        "spec": {"template": {"spec": {"containers": [{"name": "app", "env": env}]}}},
    }
    assert found.moved == {"SESSION": ("30000", "1000"), "BEAT": ("1000", None)}


@pytest.mark.parametrize(
    ("workload", "words"),
    [
        (deployment({**NEW, "SESSION": "45000"}), "SESSION has 45s, not the 30s that the operator wrote"),
        (deployment({"SESSION": "30000"}), "BEAT has no entry, not the 1s that the operator wrote"),
        (deployment({**NEW, "SESSION": "\u0663"}), "SESSION has \u0663, not"),
        (deployment({**NEW, "SESSION": "9" * 5_000}), "SESSION has 9"),
        (deployment({**NEW, "SESSION": "\x1b[2J"}), r"SESSION has \\x1b\[2J"),
    ],
)
def test_a_workload_that_somebody_changed_is_left_alone(workload: dict[str, Any], words: str) -> None:
    """What stands there now is newer than the change."""
    with pytest.raises(NothingToRevertError, match=words):
        patch_of(policy(), workload)


def test_a_workload_without_the_change_needs_nothing() -> None:
    """Of several workloads one may be reverted already, or made again: the others are reverted all the same."""
    ((ref, application),) = taking_back.last_change(policy()).items()
    for workload, words in (
        (deployment(OLD), "it has the values before the change already"),
        (deployment(NEW, uid="another"), "it was created again since the change"),
    ):
        why = taking_back.template_patch(ref, application, workload)
        assert isinstance(why, str)
        assert words in why


def test_entries_that_a_revert_leaves_to_a_person_are_named() -> None:
    """The operator writes over nobody's entries: an edit of the policy alone would end with FieldOwned."""
    command = "kubectl -n shop set env deployment/orders -c app SESSION-"
    assert taking_back.giving_up(patch_of(policy(), deployment(NEW))) == command
    assert taking_back.giving_up(patch_of(policy(previousEntries={}), deployment(NEW))) == ""


def test_a_change_that_does_not_name_its_variables_cannot_be_reverted() -> None:
    """Of an operator before this one; a person has another way."""
    with pytest.raises(NothingToRevertError, match="use kubectl rollout undo"):
        patch_of(policy(entries=None, previousEntries=None), deployment(NEW))


def test_of_a_rollout_a_person_takes_the_values_out_by_hand() -> None:
    """The API server knows strategic merges of its own kinds alone."""
    rolled = WorkloadRef("Rollout", ObjectKey("shop", "orders"), "app")
    application = Application(worlds.settings(), worlds.STORM, NOW, "u", entries={"S": "1"}, entries_before={})
    with pytest.raises(NothingToRevertError, match=r"kubectl edit rollouts\.argoproj\.io/orders -n shop"):
        taking_back.template_patch(rolled, application, {})


def test_a_revert_of_the_operators_is_not_reverted() -> None:
    """To take that back would write the values that did harm."""
    with pytest.raises(NothingToRevertError, match="the operator reverted its last change itself, at 20"):
        taking_back.last_change(policy(reverts="2026-03-02T11:00:00Z"))


def test_without_a_change_there_is_nothing_to_revert() -> None:
    """Nor where somebody has taken it out already."""
    (view,), _ = reported_policies.read([reports.policy(applied=None)], NOW)
    with pytest.raises(NothingToRevertError, match="the operator has written no values"):
        taking_back.last_change(view.policy)
    applied = reports.policy()["status"]["applied"]
    taken = {"applied": applied, "detectionTime": "2026-03-02T11:58:00Z", "generation": 2, "by": "kubectl-edit"}
    (view,), _ = reported_policies.read([reports.policy(takenBack=taken)], NOW)
    with pytest.raises(NothingToRevertError, match="kubectl-edit has taken the last change out already"):
        taking_back.last_change(view.policy)


def test_all_workloads_of_the_last_change_are_reverted() -> None:
    """Those that it was not written to yet have an older one."""
    document = reports.policy()
    applied = {**document["status"]["applied"], "container": "app", "entries": NEW, "previousEntries": OLD}
    document["spec"]["workloadRefs"] = [{"name": name, "container": "app"} for name in ("a", "b", "c")]
    del document["spec"]["workloadRef"]
    earlier = {**applied, "changeTime": "2026-02-01T00:00:00Z"}
    later = {**applied, "startTime": AT, "changeTime": "2026-03-02T11:55:00Z"}
    document["status"]["workloads"] = [
        {"kind": "Deployment", "name": name, "container": "app", "applied": change}
        for name, change in (("a", applied), ("b", later), ("c", earlier))
    ]
    (view,), problems = reported_policies.read([document], NOW)
    assert not problems
    assert [ref.key.name for ref in taking_back.last_change(view.policy)] == ["a", "b"]
    # The operator has seen that somebody took it out of one of them: the other may have it still.
    document["status"]["takenBack"] = {"applied": later, "detectionTime": "2026-03-02T11:58:00Z", "generation": 2}
    (view,), problems = reported_policies.read([document], NOW)
    assert not problems
    assert view.policy.taken_back is not None
    assert [ref.key.name for ref in taking_back.last_change(view.policy)] == ["a", "b"]


def test_selectors_are_as_kubectl_reads_them() -> None:
    """Labels and all operators."""
    rules = [
        {"key": "tier", "operator": "In", "values": ["a", "b"]},
        {"key": "old", "operator": "NotIn", "values": ["x"]},
        {"key": "app", "operator": "Exists"},
        {"key": "gone", "operator": "DoesNotExist"},
    ]
    selector = {"matchLabels": {"app": "orders"}, "matchExpressions": rules}
    assert workload_selectors.text(selector) == "app=orders,tier in (a,b),old notin (x),app,!gone"
