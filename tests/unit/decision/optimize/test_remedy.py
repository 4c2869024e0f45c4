"""The values that cure a record: floors, ceilings, steps, and what collides."""

import dataclasses
from datetime import timedelta

import pytest

from heartbeat_tuner.clients import catalogue
from heartbeat_tuner.decision.input import DecisionInput
from heartbeat_tuner.decision.optimize.remedy import Chosen
from heartbeat_tuner.domain.evidence import Record
from heartbeat_tuner.domain.liveness import LivenessSettings, Setting
from heartbeat_tuner.domain.policies import Objective
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.limits import smallest_changes
from heartbeat_tuner.limits.allowed_values import Infeasible
from tests.support import worlds
from tests.support.pipelines import choose

KAFKAJS = catalogue.client("kafkajs")


def chosen(inputs: DecisionInput, cause: Reason) -> LivenessSettings:
    """Choose where values exist."""
    answer = choose(inputs, cause)
    assert isinstance(answer, Chosen), answer.message
    return answer.settings


def refused(inputs: DecisionInput, cause: Reason = Reason.CADENCE_EXCEEDS_SESSION) -> str:
    """Return the sentence where no values exist."""
    answer = choose(inputs, cause)
    assert isinstance(answer, Infeasible), answer.settings
    return answer.message


def late_polls(gap_s: float) -> Record:
    """Return a record of members that left for want of a poll."""
    return dataclasses.replace(worlds.record(), poll_gap_evictions=9, longest_poll_gap=worlds.seconds(gap_s))


@pytest.mark.parametrize("brokers", [1, 3])
def test_cadence_is_cured_by_one_second_beats(brokers: int) -> None:
    """H rises to the floor below which it only costs requests, W falls to H."""
    inputs = worlds.storm(cluster=worlds.cluster(brokers=brokers))
    assert chosen(inputs, Reason.CADENCE_EXCEEDS_SESSION) == worlds.settings("30s", "1s", "1s")


def test_an_interval_above_the_floor_stays() -> None:
    """H is lowered for nobody, and W follows it."""
    inputs = worlds.situation(now=worlds.settings("4s", "3s", "5s"), seen=worlds.record(evictions=9))
    assert chosen(inputs, Reason.CADENCE_EXCEEDS_SESSION) == worlds.settings("30s", "3s", "3s")


def test_a_wait_below_the_interval_stays() -> None:
    """W is not raised: a longer fetch would only delay beats."""
    inputs = worlds.situation(now=worlds.settings("30s", "3s", "500ms"), seen=worlds.record(share=0.2, rebalances=9))
    assert chosen(inputs, Reason.UNSTABLE).fetch_wait == timedelta(milliseconds=500)


def test_danger_moves_only_the_session() -> None:
    """A cadence that holds is left as it is."""
    inputs = worlds.situation(seen=worlds.record(evictions=3))
    answer = chosen(inputs, Reason.DANGER)
    assert (answer.heartbeat_interval, answer.fetch_wait) == (worlds.seconds(3), worlds.seconds(5))


@pytest.mark.parametrize(
    ("silence_s", "session"),
    [
        (None, "43s"),  # 5 + 1.5 x (30 - 5): the evicted were absent for at least S - P
        (20, "43s"),
        (30.2, "43s"),
        (32, "46s"),  # 5 + 1.5 x (32 - 5) = 45.5
        (40, "58s"),  # 5 + 1.5 x 35 = 57.5
    ],
)
def test_session_covers_the_largest_absence_with_a_margin(silence_s: float | None, session: str) -> None:
    """Each eviction is one absence that exceeded S - P; survived silences may have been longer."""
    silence = None if silence_s is None else worlds.seconds(silence_s)
    inputs = worlds.situation(seen=worlds.record(evictions=3, silence=silence))
    assert chosen(inputs, Reason.DANGER).session_timeout == worlds.settings(session).session_timeout


def test_evictions_under_an_impossible_cadence_are_no_absences() -> None:
    """They say that the beat was late, and nothing of how long a member can be away."""
    inputs = worlds.situation(now=worlds.settings("4s", "1s", "5s"), seen=worlds.record(evictions=9, silence=None))
    assert chosen(inputs, Reason.CADENCE_EXCEEDS_SESSION).session_timeout == worlds.seconds(30)


@pytest.mark.parametrize(
    ("detection_s", "session_s"),
    [(120, 80), (79, 79), (78, 78)],
)
def test_above_a_minute_steps_are_coarse_but_never_beyond_a_ceiling(detection_s: int, session_s: int) -> None:
    """5 + 1.5 x 48.5 = 77.75 s becomes 78 s, which is rounded to 80 s where that is allowed."""
    inputs = worlds.situation(
        seen=worlds.record(evictions=3, silence=worlds.seconds(53.5)),
        policy=worlds.policy(objective=Objective(worlds.seconds(detection_s), 1.0)),
    )
    assert chosen(inputs, Reason.DANGER).session_timeout == worlds.seconds(session_s)


def test_session_is_never_lowered() -> None:
    """A record alone is no ground for a shorter session."""
    inputs = worlds.situation(now=worlds.settings("50s"), seen=worlds.record(share=0.2, rebalances=9))
    assert chosen(inputs, Reason.UNSTABLE).session_timeout == worlds.seconds(50)


@pytest.mark.parametrize("cause", [Reason.CADENCE_EXCEEDS_SESSION, Reason.UNSTABLE])
def test_a_session_beyond_a_ceiling_is_neither_kept_nor_lowered(cause: Reason) -> None:
    """No recommendation leaves the bounds, and none tightens on a record alone: so there is none."""
    inputs = worlds.situation(now=worlds.settings("2m", "3s", "130s"), seen=worlds.record(evictions=9))
    sentence = refused(inputs, cause)
    assert "2m" in sentence
    assert "objective.maxDetectionTime allows at most 1m" in sentence


def test_default_session_gives_way_to_a_ceiling() -> None:
    """30 s is a habit, the objective is a promise."""
    inputs = worlds.storm(policy=worlds.policy(objective=Objective(worlds.seconds(12), 1.0)))
    assert chosen(inputs, Reason.CADENCE_EXCEEDS_SESSION).session_timeout == worlds.seconds(12)


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        ({"sessionTimeout": ("45s", None)}, "45s 1s 1s"),
        ({"heartbeatInterval": ("2s", None)}, "30s 2s 2s"),
        ({"heartbeatInterval": (None, "500ms")}, "30s 500ms 500ms"),
        ({"fetchWait": (None, "200ms")}, "30s 1s 200ms"),
        ({"fetchWait": ("4s", "6s")}, "30s 1s 4s"),
    ],
)
def test_bounds_hold_the_cure(bounds: dict[str, tuple[str | None, str | None]], expected: str) -> None:
    """Bounds that no recommendation leaves."""
    inputs = worlds.storm(policy=worlds.policy(bounds=worlds.bounds(**bounds)))
    assert chosen(inputs, Reason.CADENCE_EXCEEDS_SESSION) == worlds.settings(*expected.split())


def test_bounds_hold_in_danger_too() -> None:
    """A value that stands outside the bounds is not recommended again."""
    inputs = worlds.situation(
        seen=worlds.record(evictions=3),
        policy=worlds.policy(bounds=worlds.bounds(heartbeatInterval=(None, "2s"), fetchWait=(None, "4s"))),
    )
    answer = chosen(inputs, Reason.DANGER)
    assert (answer.heartbeat_interval, answer.fetch_wait) == (worlds.seconds(2), worlds.seconds(4))


def test_brokers_minimum_is_respected() -> None:
    """The broker refuses shorter sessions."""
    inputs = worlds.storm(cluster=worlds.cluster(low="40s"))
    assert chosen(inputs, Reason.CADENCE_EXCEEDS_SESSION).session_timeout == worlds.seconds(40)


def test_clients_own_rules_have_the_last_word() -> None:
    """What a library refuses to start with is not recommended."""
    library = catalogue.client("confluent-kafka-python")
    inputs = worlds.situation(
        now=worlds.java_settings(session="45s", poll="10s"),
        policy=worlds.policy(library=library.name, bounds=worlds.bounds(maxPollInterval=(None, "30s"))),
        seen=late_polls(12),
    )
    answer = choose(inputs, Reason.POLL_GAP_EXCEEDS_LIMIT, library)
    assert isinstance(answer, Infeasible)
    assert "within the policy's bounds: confluent-kafka for Python refuses to start" in answer.message
    assert "(30s) below the session timeout (45s)" in answer.message


def test_a_limit_that_must_cover_the_session_bounds_it() -> None:
    """What a library would not start with is a collision like any other."""
    picky = dataclasses.replace(KAFKAJS, must_cover_session=(Setting.HEARTBEAT_INTERVAL,))
    answer = choose(worlds.storm(), Reason.CADENCE_EXCEEDS_SESSION, picky)
    assert isinstance(answer, Infeasible)
    assert "at least 3s (3 heartbeats of 1s), but heartbeatInterval, which must cover it, allows" in answer.message


def test_a_session_may_grow_with_the_poll_limit_that_covers_it() -> None:
    """Where both are cured at once, the new limit is what counts."""
    library = catalogue.client("confluent-kafka-python")
    inputs = worlds.situation(
        now=worlds.java_settings(session="40s", poll="40s"),
        policy=worlds.policy(library=library.name),
        seen=dataclasses.replace(late_polls(50), evictions=9),
    )
    answer = choose(inputs, Reason.POLL_GAP_EXCEEDS_LIMIT, library)
    assert isinstance(answer, Chosen), answer.message
    assert answer.settings.session_timeout == worlds.seconds(59)
    assert answer.settings.max_poll_interval == worlds.seconds(300)


def test_a_poll_limit_that_counts_double_is_half_of_what_the_gap_needs() -> None:
    """The library waits twice as long as is set."""
    library = catalogue.client("confluent-kafka-javascript")
    inputs = worlds.situation(
        now=worlds.java_settings(), policy=worlds.policy(library=library.name), seen=late_polls(800)
    )
    answer = choose(inputs, Reason.POLL_GAP_EXCEEDS_LIMIT, library)
    assert isinstance(answer, Chosen), answer.message
    assert answer.settings.max_poll_interval == worlds.seconds(520)
    assert "may then take 17m20s" in answer.message


@pytest.mark.parametrize(
    ("now", "target", "within"),
    [
        ("30s 3s 5s", "30s 3s 5s", True),
        ("30s 3s 5s", "31.4s 3s 5s", True),  # 5 % of 30 s are 1.5 s
        ("30s 3s 5s", "31.5s 3s 5s", False),
        ("2s 500ms 1s", "2.9s 500ms 1s", True),  # less than a second
        ("2s 500ms 1s", "3s 500ms 1s", False),
        ("30s 3s 5s", "30s 3s 4.9s", False),  # a cadence is cured or not
        ("30s 3s 5s", "31s 2s 5s", False),
    ],
)
def test_band(now: str, target: str, within: bool) -> None:  # noqa: FBT001 - a table's column
    """A change of the session alone must be worth a rollout."""
    assert smallest_changes.within_band(worlds.settings(*now.split()), worlds.settings(*target.split())) is within
