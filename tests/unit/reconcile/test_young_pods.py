"""Policies of pods that started some seconds ago, on fakes: what an early look concludes from so little."""

from datetime import timedelta
from typing import Final

from tests.support import counters, manifests, worlds
from tests.support.stages import CONSUMER, ORDERS, Stage

BEATS_BEFORE: Final = 598_543_049
SCRAPE_S: Final = 0.5
AGE: Final = timedelta(seconds=7)
"""At which somebody makes the policy: three beats that come every 3 s lie between the first scrape and the last."""


async def looked_at(beat_s: float) -> Stage:
    """Return a stage on which a policy was made of young pods, and looked at between two cycles.

    Args:
        beat_s: seconds between two beats of a member, whose heartbeat interval is 3 s.
    """
    pods = [worlds.pod(number, started=worlds.NOW - AGE) for number in range(3)]
    times_s = [0.25 + SCRAPE_S * number for number in range(int(600 / SCRAPE_S))]
    beats = [
        ((worlds.NOW - AGE).timestamp() + at_s, BEATS_BEFORE + (at_s - times_s[0] - 0.1) // beat_s + 1)
        for at_s in times_s
    ]
    stage = Stage(
        [],
        answers=counters.together(*(counters.beating(pod, beats) for pod in pods)),
        workloads={CONSUMER: worlds.workload(worlds.settings(), running=pods)},
    )
    stage.groups.groups["main"]["orders"] = worlds.group()
    await stage.cycle(after=timedelta(0))
    body = manifests.policy(spec={"mode": "Recommend"})
    stage.policies.stored[ORDERS] = body
    stage.store.show(body)
    await stage.look(ORDERS, after=timedelta(seconds=0.3))
    return stage


async def test_a_policy_made_a_moment_ago_is_not_contradicted_by_three_beats() -> None:
    """They seem to come every 2.2 s; what was noted from that would stand until somebody edits the policy."""
    stage = await looked_at(3.0)
    assert "contradicted" not in stage.policies.status_of(ORDERS)
    assert stage.condition("Recommended") == ("Unknown", "TooLittleData")
    await stage.cycle(after=timedelta(seconds=120))
    assert "contradicted" not in stage.policies.status_of(ORDERS)
    assert stage.condition("Recommended")[1] != "SettingsNotInForce"


async def test_another_beat_is_noted_once_it_was_timed_for_a_minute() -> None:
    """A beat a second is not of an interval of 3 s."""
    stage = await looked_at(1.0)
    assert "contradicted" not in stage.policies.status_of(ORDERS)
    await stage.cycle(after=timedelta(seconds=50))
    assert "contradicted" not in stage.policies.status_of(ORDERS)
    await stage.cycle(after=timedelta(seconds=10))
    assert stage.policies.status_of(ORDERS)["contradicted"]["reason"] == "SettingsNotInForce"
