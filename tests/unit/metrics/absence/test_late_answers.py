"""Which late answers show that the coordinator was away, and which are one member's own affair?"""

import itertools
from collections.abc import Mapping, Sequence

import pytest

from heartbeat_tuner.domain.evidence import Unknown
from heartbeat_tuner.metrics import quantities
from heartbeat_tuner.metrics.absence import late_answers
from heartbeat_tuner.metrics.absence.late_answers import LateAnswer
from heartbeat_tuner.metrics.raw.samples import Series
from heartbeat_tuner.metrics.vocabulary import Quantity
from tests.support import counters

SCRAPE_S = 15.0
SHOWN_S = 60.0


def answers(pod: str, *late: tuple[float, float], since_s: float = 0.0, until_s: float = 3_600.0) -> Series:
    """Return a pod's slowest answers of the last minute, with those that came at these seconds and took so long."""
    times_s = itertools.takewhile(lambda at_s: at_s <= until_s, itertools.count(since_s, SCRAPE_S))
    return counters.series(
        ((at_s, max([0.02, *(took for came, took in late if came <= at_s < came + SHOWN_S)])) for at_s in times_s),
        pod=pod,
    )


def of_most(
    *series: Series, quantity: Quantity = Quantity.HEARTBEAT_RESPONSE_TIME_MAX
) -> Mapping[str, Sequence[LateAnswer]]:
    """Return what most pods show."""
    return late_answers.of_most({quantity: series})


@pytest.mark.parametrize("quantity", [Quantity.HEARTBEAT_RESPONSE_TIME_MAX, Quantity.COORDINATOR_ROUND_TRIP_MAX])
def test_what_most_pods_show_at_once_is_an_outage(quantity: Quantity) -> None:
    """One of three that was answered in time changes nothing; scrapes leave open when the answer came."""
    late = [answers(pod, (1_000.0 + number, 20.0)) for number, pod in enumerate(("a", "b"))]
    found = of_most(*late, answers("c"), quantity=quantity)
    assert found == {"a": [LateAnswer(970.0, 1_005.0, 20.0)], "b": [LateAnswer(970.0, 1_005.0, 20.0)], "c": []}


def test_what_one_pod_shows_alone_is_its_own_affair() -> None:
    """It stood still with a beat on its way: so long an answer is not late for anybody else, nor at another time."""
    alone: dict[str, list[LateAnswer]] = {"a": [], "b": [], "c": []}
    assert of_most(answers("a", (1_000.0, 20.0)), answers("b"), answers("c")) == alone
    apart = [answers(pod, (1_000.0 + 200.0 * number, 20.0)) for number, pod in enumerate(("a", "b", "c"))]
    assert of_most(*apart) == alone
    assert of_most(answers("a", (1_000.0, 20.0))) == {"a": []}  # a group of one pod tells nothing


def test_what_less_than_half_of_the_pods_show_is_no_outage() -> None:
    """Those of one node, say, which waited for a CPU."""
    late = [answers(pod, (1_000.0, 20.0)) for pod in ("a", "b")]
    in_time = [answers(pod) for pod in ("c", "d", "e")]
    assert not any(of_most(*late, *in_time).values())
    assert [len(found) for found in of_most(*late, *in_time[:1]).values()] == [1, 1, 0]


def test_pods_of_other_times_have_no_say() -> None:
    """A day has pods that were replaced."""
    gone = [answers(pod, until_s=500.0) for pod in ("x", "y", "z")]
    found = of_most(*gone, answers("a", (1_000.0, 20.0)), answers("b", (1_000.0, 20.0)))
    assert [len(found[pod]) for pod in ("a", "b", "x")] == [1, 1, 0]


def test_a_maximum_that_falls_shows_nothing_new() -> None:
    """It is that of a window in which the longer one is no more; what stands there first is of any time."""
    falling = [answers(pod, (-10.0, 30.0), (1_000.0, 5.0), (1_020.0, 2.0)) for pod in ("a", "b")]
    assert [answer.took_s for answer in of_most(*falling)["a"]] == [5.0]


def test_an_outage_is_no_absence_of_every_member() -> None:
    """Before, each of them had been absent for it."""

    def beats(pod: str, away_s: float) -> Series:
        times_s = [SCRAPE_S * number for number in range(240)]
        counts = [(min(at_s, 1_000.0) + max(0.0, at_s - 1_000.0 - away_s)) // 3.0 for at_s in times_s]
        return counters.series(zip(times_s, counts, strict=True), pod=pod)

    pods = ("a", "b", "c")
    away = {Quantity.HEARTBEATS: [beats(pod, 20.0) for pod in pods]}
    late = {Quantity.COORDINATOR_ROUND_TRIP_MAX: [answers(pod, (1_020.0, 20.0)) for pod in pods]}
    counted = [quantities.measured(observed, {}) for observed in (away, away | late)]
    absences = [found.absences for found in counted if not isinstance(found.absences, Unknown)]
    assert [found.count for found in absences] == [3, 0]
    assert not isinstance(counted[1].outages, Unknown)
    assert counted[1].outages.largest_s == 20.0
