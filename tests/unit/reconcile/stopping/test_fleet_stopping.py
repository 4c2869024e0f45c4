"""Whole cycles on fakes: a fit that harms many groups a little is stopped, and only a person lets it go on."""

import dataclasses
from datetime import timedelta
from typing import Any, Final

import pytest
from structlog.testing import capture_logs

from heartbeat_tuner.domain.errors import ApiServerError, NotLeaderError, WriteConflictError
from heartbeat_tuner.domain.evidence import Holdings
from heartbeat_tuner.domain.policies import ObjectKey
from heartbeat_tuner.domain.rollouts import Failing, Rollout
from heartbeat_tuner.ports.fleet_stops import FleetStop, StopNote
from tests.support import counters, manifests, worlds
from tests.support.stages import CONSUMER, MINUTE, ORDERS, Stage
from tests.unit.reconcile.test_reverting import changed

pytestmark = pytest.mark.no_cover  # runs cycles of a fleet

VALUES: Final = {"sessionTimeout": "30s", "heartbeatInterval": "3s", "fetchWait": "5s"}
CHANGED: Final = worlds.NOW - timedelta(hours=20)
SINCE: Final = CHANGED - timedelta(days=14)
CURED: Final = worlds.settings("30s", "1s", "1s")


def moment(at: Any) -> str:
    """Return a moment as a status has it."""
    return f"{at:%Y-%m-%dT%H:%M:%SZ}"


def status_after(group: str, episodes: int) -> dict[str, Any]:
    """Return the status of a group that had an episode a day, and so many in the 20 hours since it was changed."""
    at = moment(CHANGED)
    applied = {"values": VALUES, "previous": {**VALUES, "sessionTimeout": "45s"}, "changeTime": at, "container": "app"}
    before = [86_400 * day + 600 for day in range(14)]
    since = [86_400 * 14 + 3_600 * hour for hour in range(1, 1 + episodes)]
    return {
        "observedGeneration": 1,
        "applied": {**applied, "workloadUid": "workload-1"},
        "verification": {"changeTime": at, "readyTime": at, "outcome": "Verifying"},
        "history": {
            "startTime": moment(SINCE),
            "clusterRef": "main",
            "groupId": group,
            "values": VALUES,
            "episodes": " ".join(map(str, before + since)),
        },
    }


def key_of(number: int, *, teams: int = 1) -> ObjectKey:
    """Return the policy of a changed group: in the first namespace, or in one of several."""
    return ObjectKey("shop" if teams == 1 else f"team{number % teams}", f"g{number}")


def poisoned(count: int = 20, *, episodes: int = 3, teams: int = 1) -> Stage:
    """Return a fleet whose groups were changed 20 hours ago, and another group in a storm, which wants a cure.

    Args:
        count: of changed groups.
        episodes: of each since.
        teams: namespaces that they are spread over; all with the other one if it is one.
    """
    keys = [key_of(number, teams=teams) for number in range(count)]
    bodies = [manifests.policy()]
    workloads = {CONSUMER: worlds.workload(worlds.STORM)}
    stored = worlds.workload(worlds.settings("30s"), running=[worlds.pod(100)])
    for key in keys:
        reference = {"kind": "Deployment", "name": f"{key.name}-consumer", "container": "app"}
        spec = {"groupId": key.name, "workloadRef": reference}
        bodies.append(
            manifests.policy(key.name, namespace=key.namespace, spec=spec, status=status_after(key.name, episodes))
        )
        workloads[ObjectKey(key.namespace, f"{key.name}-consumer")] = stored
    stage = Stage(bodies, workloads=workloads)
    for key in keys:
        stage.groups.groups["main"][key.name] = dataclasses.replace(worlds.group(), group_id=key.name)
    return stage


def values_written(stage: Stage) -> list[Any]:
    """Return the values of all writes."""
    return [write.target for write in stage.workloads.writes]


async def test_harm_to_many_groups_stops_every_change() -> None:
    """The cure of another group waits, too: a bad fit may call what it writes a cure. No group alone shows anything."""
    stage = poisoned()
    with capture_logs() as logs:
        for _ in range(3):
            report = await stage.cycle()
    assert stage.workloads.writes == []
    assert report.fleet_stopped
    assert stage.condition("Applied") == ("False", "FleetStopped")
    assert "20 groups whose values were changed" in stage.message("Applied")
    assert "60 episodes of evictions since, where their records before let expect 12.4" in stage.message("Applied")
    assert {stage.condition("Verified", key_of(number))[1] for number in range(20)} == {"Verifying"}
    assert [line["namespaces"] for line in logs if "are stopped" in line["event"]] == [["shop"]]
    assert [event.reason for event in stage.policies.events if event.policy == "orders"].count("FleetStopped") == 1


async def test_groups_that_are_well_after_their_changes_stop_nothing() -> None:
    """As many episodes as before."""
    stage = poisoned(episodes=1)
    assert not (await stage.cycle()).fleet_stopped
    assert values_written(stage) == [CURED]
    assert stage.stops.replacements == []


async def test_a_stop_outlasts_leaders_and_what_it_rests_on() -> None:
    """Two days later nothing of it is counted any more."""
    stage = poisoned()
    await stage.cycle()
    for after in (MINUTE, timedelta(days=2), MINUTE):
        stage.restart()
        series = counters.stormy(worlds.pods(), stage.clock.now() + after - worlds.HOUR, stage.clock.now() + after)
        stage.prometheus.answers = series
        await stage.cycle(after)
        assert stage.condition("Applied") == ("False", "FleetStopped")
    assert stage.workloads.writes == []
    assert len(stage.stops.replacements) == 1


async def test_a_person_resumes_and_the_same_evidence_does_not_stop_again() -> None:
    """Whoever leads: since when is noted before anything is written."""
    stage = poisoned()
    await stage.cycle()
    stage.stops.resume()
    with capture_logs() as logs:
        report = await stage.cycle()
    assert values_written(stage) == [CURED]
    assert not report.fleet_stopped
    assert stage.stops.note == StopNote(resumed_at=stage.clock.now())
    assert "changes of values are resumed" in [line["event"] for line in logs]
    stage.restart()
    assert not (await stage.cycle()).fleet_stopped


async def test_a_note_that_is_only_lost_resumes_nothing() -> None:
    """What was seen is still seen."""
    stage = poisoned()
    await stage.cycle()
    stage.stops.note = StopNote()
    stage.restart()
    await stage.cycle()
    assert stage.workloads.writes == []
    assert stage.stops.note.stop is not None


async def test_an_early_look_at_an_edited_policy_is_held_as_well() -> None:
    """It reads the note, and leaves the evidence to the next pass."""
    stage = poisoned()
    stage.stops.note = StopNote(FleetStop("a person stopped it"))
    await stage.cycle()
    stage.policies.edit(ORDERS, bounds={"sessionTimeout": {"max": "60s"}})
    await stage.operator.run({ORDERS})
    assert stage.workloads.writes == []
    assert stage.condition("Applied") == ("False", "FleetStopped")
    stage.stops.note = StopNote()
    await stage.operator.run({ORDERS})
    assert values_written(stage) == [CURED]
    await stage.cycle()
    assert stage.stops.note.stop is not None


async def test_a_revert_passes() -> None:
    """What did harm or failed is taken back while nothing else is changed."""
    stage = poisoned()
    stage.stops.note = StopNote(resumed_at=worlds.NOW)
    stage.workloads.edit(CONSUMER, holdings=Holdings({}, {}, {}, {}, {}, {}, "workload-1", 5))
    await stage.cycle()
    assert values_written(stage) == [CURED]
    stage.stops.note = StopNote(FleetStop("a person stopped it"))
    failing = Failing("orders-new", "container app ends again and again, with exit code 1", 2, container="app")
    stage.workloads.edit(CONSUMER, rollout=Rollout(wanted=3, updated=1, failing=(failing,)))
    await stage.cycle()
    assert values_written(stage) == [CURED, worlds.STORM]


async def test_new_pods_get_no_new_values_either() -> None:
    """In mode Initial the webhook sets what the status says."""
    stage = poisoned()
    stage.policies.edit(ORDERS, mode="Initial")
    await stage.cycle()
    assert "initial" not in stage.policies.status_of(ORDERS)
    assert stage.condition("Applied") == ("False", "FleetStopped")
    stage.stops.resume()
    await stage.cycle()
    assert stage.policies.status_of(ORDERS)["initial"]["values"]["sessionTimeout"] == "30s"


@pytest.mark.parametrize("teams", [4, 20])
async def test_a_fleet_of_many_namespaces_is_stopped_as_a_whole(teams: int) -> None:
    """Also where a namespace has a single group, and shows nothing by itself."""
    stage = poisoned(teams=teams)
    await stage.cycle()
    assert stage.workloads.writes == []
    assert stage.stops.note.stop is not None
    assert stage.stops.note.stop.namespaces == frozenset()
    assert "team" not in stage.message("Applied")


async def test_a_tenant_stops_himself_at_most() -> None:
    """However many evictions he forges, in however many groups."""
    stage = poisoned(20, teams=4)
    for number in range(20):
        key = key_of(number, teams=4)
        stage.policies.have_status(key, status_after(key.name, 19 if key.namespace == "team0" else 1))
    await stage.cycle()
    assert values_written(stage) == [CURED]
    assert stage.stops.note.stop is not None
    assert stage.stops.note.stop.namespaces == {"team0"}


@pytest.mark.parametrize(
    "error", [ApiServerError("no answer"), WriteConflictError("it changed")], ids=["no answer", "conflict"]
)
@pytest.mark.parametrize("is_read", [True, False])
async def test_nothing_begins_while_the_note_is_out_of_reach(error: Exception, *, is_read: bool) -> None:
    """Unknown is not "go": neither where it cannot be read, nor where a stop or its end cannot be noted."""
    stage = poisoned()
    stage.stops.error, stage.stops.write_error = (None, error) if is_read else (error, None)
    for note in (StopNote(), StopNote(asked_to_resume=True)):
        stage.stops.note = note
        await stage.cycle()
        assert stage.workloads.writes == []
        assert stage.condition("Applied") == ("False", "ApiServerError")
    stage.stops.error = stage.stops.write_error = None
    await stage.cycle()
    assert values_written(stage) == [CURED]


async def test_the_end_of_a_leadership_ends_the_cycle() -> None:
    """Another replica notes it."""
    stage = poisoned()
    stage.stops.write_error = NotLeaderError("over")
    with pytest.raises(NotLeaderError):
        await stage.cycle()
    assert stage.workloads.writes == []


async def test_time_without_an_episode_counts_in_each_cycle() -> None:
    """Or those that had one would be compared with a time in which the others were not seen."""
    stage = poisoned(3)
    for _ in range(3):
        await stage.cycle()
        until_s = {group.counted.until_s for group in stage.operator._gatherer.changed}
        assert until_s == {stage.clock.now().timestamp()}


async def test_what_was_taken_back_still_counts() -> None:
    """The groups that are harmed most are set back first, and would be missing where all are asked."""
    stage = changed(watched=timedelta(days=14))
    for _ in range(58):
        await stage.cycle()
    assert values_written(stage) == [worlds.settings("45s")]
    (reverted,) = stage.operator._gatherer.changed
    for _ in range(3):
        await stage.cycle()
    (group,) = stage.operator._gatherer.changed
    assert (group.policy, group.counted.times_s.size) == (ORDERS, 3)
    assert group.counted.until_s == pytest.approx(reverted.counted.until_s, abs=60.0)
