"""Kill, stop, continue and cut, at random, over two replicas and twenty policies: no harm is ever done.

The pods of some workloads crash with the new values, so that events meet changes that are applied, watched and taken
back.

A seed that failed is played alone with `pytest tests/schedules -k seed17`.
"""

import pytest

from sandbox import progress
from tests.schedules import schedule
from tests.schedules.conftest import Tally
from tests.schedules.schedule import CUTS, PLAYED_ALWAYS, SEEDS, Act
from tests.schedules.stage import CRASHING, SESSION_FLOORS_S, SIZE, Shown, Stage, differences

pytestmark = pytest.mark.timeout(300)

WRITES = [1] * (SIZE - CRASHING) + [2] * CRASHING
"""Of each workload: its values, and where these fail what takes them back."""


def test_the_undisturbed_run_cures_all(undisturbed: list[Shown]) -> None:
    """What the schedules are compared with is right itself; where pods crash, nothing is left of the values."""
    for floor_s, shown in zip(SESSION_FLOORS_S, undisturbed[:-CRASHING], strict=False):
        assert shown["env"]["KAFKA_SESSION_TIMEOUT_MS"] == f"{floor_s}000"
        assert shown["current"] == shown["values"] == {**shown["values"], "sessionTimeout": f"{floor_s}s"}
        assert shown["previous"]["sessionTimeout"] == "1s"
        assert shown["conditions"]["Applied"] == ("True", "Applied")
    for shown in undisturbed[-CRASHING:]:
        assert shown["env"] == {}
        assert shown["conditions"]["Verified"] == ("False", "Reverted")
        assert shown["conditions"]["Applied"] == ("False", "FailedBefore")


@pytest.mark.parametrize(
    "seed",
    [pytest.param(seed, marks=[] if seed in PLAYED_ALWAYS else [pytest.mark.all_schedules]) for seed in SEEDS],
    ids="seed{:02}".format,
)
def test_two_replicas_do_no_harm(stage: Stage, undisturbed: list[Shown], tally: Tally, seed: int) -> None:
    """Nobody writes without the lease or from a stale view, nothing is written twice, and all end as undisturbed.

    One late write is borne here, and one in all schedules together: there is a moment between the last look at the
    leadership and the system call that sends, and who is stopped right there sends when it goes on. It is harmless: it
    rests on the newest version, too, and the one who leads by then has its own refused and decides again.
    """
    played = stage.play(f"seed{seed:02}", schedule.drawn(seed), undisturbed)
    if played.trail.without_lease() and played.stood_still:
        progress.say(f"seed{seed:02}", "the machine stood still meanwhile, which held back writes: played once more")
        played = stage.play(f"seed{seed:02}", schedule.drawn(seed), undisturbed)
    tally.add(played)
    progress.say(
        f"seed{seed:02}",
        f"{played.took_s:.1f} s, {len(played.hits)} hits of a leader{' while it applied' * played.interrupted}, "
        f"{played.trail.changes()} leadership changes, {played.trail.refused()} applies refused"
        f"{', hit before reverts' * played.struck_before_reverts}",
    )
    assert len(played.trail.without_lease()) <= 1, played.trail.account()
    assert played.trail.stale() == []
    assert played.trail.applies() == dict(zip(played.fleet, WRITES, strict=True))
    differing = differences(played.end, undisturbed)
    assert not differing, "\n".join(differing)


def test_the_schedules_bite(tally: Tally) -> None:
    """They hit leaders in what they do, or all the above would prove nothing; a third of what is usual will do.

    Of Events, too, one in all may be late; no version refuses it.
    """
    if tally.schedules < len(PLAYED_ALWAYS):
        pytest.skip(f"{tally.schedules} of {len(PLAYED_ALWAYS)} schedules were played")
    progress.say("all", str(tally))
    share = tally.schedules / len(SEEDS)
    assert tally.hits[Act.KILL] >= 4 * share
    assert tally.hits[Act.STOP] >= 8 * share
    assert sum(tally.hits.get(act, 0) for act in CUTS) >= 7 * share
    assert tally.leadership_changes >= 10 * share
    assert tally.refused >= 12 * share
    assert tally.interrupted >= 15 * share
    assert tally.struck_before_reverts >= 4 * share
    assert tally.late_writes + tally.late_events <= 1
