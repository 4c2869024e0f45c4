"""Replicas, sources, webhook, pods with static ids, models and persons, all disturbed at once: no harm is ever done.

A seed that failed is played alone with `pytest tests/schedules/test_at_once.py -k seed1017`. What came of each is added
to `build/fault-campaign.json`. `python -m tests.schedules` plays all.
"""

import contextlib
from collections.abc import Iterator
from typing import Final

import pytest

from sandbox import progress, scenario
from sandbox.audit import Tail
from sandbox.environment import OPERATOR_USERS, Sandbox
from sandbox.scenario import LeaseTimes
from tests.schedules import at_once, results
from tests.schedules.conftest import telling
from tests.schedules.replicas import INTERVAL_S, Replicas
from tests.schedules.stage import CRASHING, NOTE_EVERY_S, SIZE, Played, Shown, Stage, deploy, differences, is_unblamed
from tests.schedules.surroundings import REVERTED, Surroundings
from tests.support import webhooks
from tests.support.fleets import Fleet

pytestmark = [pytest.mark.at_once, pytest.mark.timeout(600)]

WRITES: Final = [1] * (SIZE - CRASHING) + [2] * CRASHING
LEASE_TIMES: Final = LeaseTimes("6s", "3600ms", "600ms")
"""Those of `tests.schedules.replicas` at this pace, as is the interval."""

SETTLED_TIMEOUT_S: Final = 240.0
"""A busy machine needs minutes for the rollouts alone."""

READ_BEFORE_S: Final = 10.0
"""So old may be what a status rests on: a cycle over slow wires, and a stop of a replica within its lease."""


@pytest.fixture(scope="module")
def surroundings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Stage, Surroundings]]:
    """Two fleets in a storm, two replicas, and everything beside them."""
    with contextlib.ExitStack() as running:
        users = (*OPERATOR_USERS, webhooks.USER)
        sandbox = running.enter_context(Sandbox(tmp_path_factory.mktemp("at-once"), users=users))
        scenario.install(sandbox)
        tail = Tail(sandbox.control_plane.audit_log)
        fleets = [running.enter_context(Fleet(sandbox, name, SIZE)) for name in ("red", "blue")]
        for fleet in fleets:
            deploy(fleet)
        metrics = running.enter_context(telling(fleets))
        beside = running.enter_context(Surroundings(sandbox, metrics.port, tmp_path_factory.mktemp("webhook")))
        interval_s = at_once.PACE * INTERVAL_S
        replicas = running.enter_context(
            Replicas(sandbox, beside.prometheus_url, beside.bootstrap, LEASE_TIMES, interval_s)
        )
        yield Stage(fleets, replicas, tail, beside, SETTLED_TIMEOUT_S, at_once.PACE * NOTE_EVERY_S), beside


@pytest.fixture(scope="module")
def by_persons_alone(surroundings: tuple[Stage, Surroundings]) -> list[Shown]:
    """What stands at the end when nothing happens but what persons do."""
    return surroundings[0].play("persons-alone", at_once.persons_alone()).end


def test_what_a_person_took_back_stays_so(by_persons_alone: list[Shown]) -> None:
    """What the schedules are compared with is right itself."""
    assert by_persons_alone[REVERTED]["env"] == {}
    assert by_persons_alone[REVERTED]["conditions"]["Applied"] == ("False", "TakenBack")
    assert all(shown["env"] for shown in by_persons_alone[1:-CRASHING])


@pytest.mark.parametrize("seed", at_once.SEEDS, ids=lambda seed: f"seed{seed}")
def test_nothing_that_happens_at_once_does_harm(
    surroundings: tuple[Stage, Surroundings], by_persons_alone: list[Shown], seed: int
) -> None:
    """Judged by what must hold whatever happened, and by the end state of the undisturbed run."""
    stage, beside = surroundings
    played = stage.play(f"seed{seed}", at_once.drawn_at_once(seed), by_persons_alone)
    broken = broken_invariants(played, by_persons_alone, beside)
    is_left = any(map(is_unblamed, played.end, by_persons_alone))
    results.add(
        {
            "seed": seed,
            "ok": not broken,
            "seconds": round(played.took_s, 1),
            "hits_of_a_leader": len(played.hits),
            "leadership_changes": played.trail.changes(),
            "applies_refused": played.trail.refused(),
            "unblamed": played.had_outage and is_left,
            "broken": broken,
        }
    )
    progress.say(f"seed{seed}", f"{played.took_s:.1f} s, {len(played.hits)} hits of a leader, {len(broken)} broken")
    assert not broken, "\n".join(broken)


def broken_invariants(played: Played, undisturbed: list[Shown], beside: Surroundings) -> list[str]:
    """Return a sentence for each invariant that did not hold."""
    trail, broken = played.trail, list[str]()
    late = trail.without_lease()
    if len(late) > 1 or (late and not played.stood_still):
        broken.append(f"written without the lease: {trail.account()}")
    broken += [f"not from the newest version: {write}" for write in trail.stale()]
    broken += [f"an entry without a value: {write}" for write in trail.empty_entries()]
    broken += [f"called applied, and is not: {write}" for write in trail.untrue(within_s=READ_BEFORE_S)]
    applies = trail.applies()
    for workload, times, shown, wanted in zip(played.fleet, WRITES, played.end, undisturbed, strict=True):
        written = applies.get(workload, 0)
        # The values may have been taken back a moment later.
        may_be_first = played.had_outage and is_unblamed(shown, wanted)
        if written != times and not (may_be_first and written == 1):
            broken.append(f"{workload[1]} was written {written} times, not {times}")
    broken += [f"{id_} was of {pod} and of {other} at once" for id_, pod, other in beside.static.shared_ids()]
    broken += [f"pod {name} has an entry without a value" for name in beside.static.empty_entries()]
    return broken + differences(played.end, undisturbed, had_outage=played.had_outage)
