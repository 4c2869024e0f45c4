"""Whole cycles on fakes: what failed in a canary is noted at the workload, for who has no status."""

import dataclasses

import pytest

from heartbeat_tuner.domain.errors import ApiServerError, FieldOwnedError, WriteConflictError
from heartbeat_tuner.domain.evidence import Holdings
from heartbeat_tuner.domain.verifications import FailedValues
from tests.support.stages import CONSUMER, ORDERS
from tests.support.tried import TriedStage


async def failed(**spec: object) -> TriedStage:
    """Return a stage whose canary failed, and whose pods went back."""
    stage = TriedStage(**spec)
    stage.workloads.edit(CONSUMER, holdings=Holdings({}, {}, {}, {}, {}, {}, "workload-1", 5))
    stage.workloads.crashes = True
    for _ in range(10):
        await stage.cycle()
        if stage.canary.get("phase") == "Over":
            return stage
    raise AssertionError(stage.policies.status_of(ORDERS))


def noted(stage: TriedStage) -> list[FailedValues]:
    """Return what the workload itself says has failed."""
    held = stage.workloads.stored[CONSUMER].holdings
    assert held is not None
    return list(held.failed.get("app", ()))


async def test_what_failed_is_noted_at_the_workload_and_its_template_is_not_written() -> None:
    """Once: nothing of it is written again while it stands."""
    stage = await failed()
    (values,) = noted(stage)
    assert (values.outcome.value, values.values.session_timeout.total_seconds()) == ("RolloutFailed", 17.0)
    assert "exit code 7" in values.message
    for _ in range(3):
        await stage.cycle()
    assert (stage.workloads.note_attempts, stage.workloads.writes) == (1, [])


async def test_an_operator_without_a_status_knows_it() -> None:
    """Reinstalled, or the policy was deleted and made again: what it asks for is the same, and held again."""
    stage = await failed()
    evictions = len(stage.workloads.evictions)
    body = dict(stage.policies.stored[ORDERS])
    body["metadata"] = {**body["metadata"], "uid": "uid-of-another"}
    stage.policies.stored[ORDERS] = body
    stage.policies.have_status(ORDERS, {})
    stage.restart()
    for _ in range(4):
        await stage.cycle()
    assert stage.condition("Applied") == ("False", "FailedBefore")
    (known,) = stage.policies.status_of(ORDERS)["reverted"]
    assert known["outcome"] == "RolloutFailed"
    assert (len(stage.workloads.evictions), stage.workloads.writes) == (evictions, [])


async def test_a_leader_that_fell_before_the_note_leaves_it_to_the_next() -> None:
    """The status has it first."""
    stage = TriedStage()
    stage.workloads.edit(CONSUMER, holdings=Holdings({}, {}, {}, {}, {}, {}, "workload-1", 5))
    stage.workloads.crashes = True
    stage.workloads.note_error = ApiServerError("no answer in 30 s")
    for _ in range(8):
        await stage.cycle()
    assert stage.policies.status_of(ORDERS)["reverted"]
    assert (noted(stage), stage.workloads.note_attempts > 2) == ([], True)
    stage.workloads.note_error = None
    stage.restart()
    await stage.cycle()
    assert len(noted(stage)) == 1


@pytest.mark.parametrize(
    ("error", "attempts"),
    [
        (FieldOwnedError("kubectl has heartbeat-tuner.dev/failed"), 1),
        (ApiServerError("forbidden", status=403), 1),
        (WriteConflictError("changed"), 6),
    ],
    ids=["owned", "forbidden", "conflict"],
)
async def test_a_refused_note_is_not_asked_for_in_each_cycle(error: Exception, attempts: int) -> None:
    """But one that came second is; the status has it meanwhile."""
    stage = await failed()
    held = stage.workloads.stored[CONSUMER].holdings
    assert held is not None
    stage.workloads.edit(CONSUMER, holdings=dataclasses.replace(held, failed={}))
    stage.workloads.note_error = error
    stage.restart()
    stage.workloads.note_attempts = 0
    for _ in range(6):
        await stage.cycle()
    assert stage.workloads.note_attempts == attempts
    assert stage.condition("Applied") == ("False", "FailedBefore")


async def test_a_surprise_in_a_note_ends_no_cycle() -> None:
    """What nobody foresaw in one policy's workload is not the others' loss."""
    stage = await failed()
    held = stage.workloads.stored[CONSUMER].holdings
    assert held is not None
    stage.workloads.edit(CONSUMER, holdings=dataclasses.replace(held, failed={}))
    stage.workloads.note_error = KeyError("a surprise")
    stage.restart()
    await stage.cycle()
    assert stage.condition("Applied") == ("False", "FailedBefore")


async def test_who_takes_the_note_out_again_is_not_fought() -> None:
    """Manifests that are put back in place take it out each time: one leader writes it once."""
    stage = await failed()
    for _ in range(4):
        held = stage.workloads.stored[CONSUMER].holdings
        assert held is not None
        stage.workloads.edit(CONSUMER, holdings=dataclasses.replace(held, failed={}))
        await stage.cycle()
    assert stage.workloads.note_attempts == 1


@pytest.mark.parametrize("edit", [{"suspend": True}, {"mode": "Recommend"}], ids=["suspended", "Recommend"])
async def test_nothing_is_noted_where_nothing_may_be_written(edit: dict[str, object]) -> None:
    """Suspended, or by a policy that only recommends."""
    stage = await failed()
    held = stage.workloads.stored[CONSUMER].holdings
    assert held is not None
    stage.workloads.edit(CONSUMER, holdings=dataclasses.replace(held, failed={}))
    stage.policies.edit(ORDERS, **edit)
    stage.restart()
    for _ in range(3):
        await stage.cycle()
    assert (stage.workloads.note_attempts, noted(stage)) == (1, [])


async def test_a_policy_that_is_gone_behind_the_watch_notes_nothing() -> None:
    """Deleted, or edited, since it was looked at."""
    stage = await failed()
    held = stage.workloads.stored[CONSUMER].holdings
    assert held is not None
    stage.workloads.edit(CONSUMER, holdings=dataclasses.replace(held, failed={}))
    stage.policies.edit_behind_the_watch(ORDERS, suspend=True)
    stage.restart()
    await stage.cycle()
    assert (stage.workloads.note_attempts, noted(stage)) == (1, [])
