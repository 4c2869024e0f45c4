"""What one namespace may do to what another one learns: little, whatever it says."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.tails import neighbours, rates
from heartbeat_tuner.tails.fit import fleet_prior
from heartbeat_tuner.tails.fit.exceedances import Exceedances
from heartbeat_tuner.tails.histogram import BUCKETS, EDGES_S, Histogram, dense
from heartbeat_tuner.tails.pool import Pool

counts = st.floats(0.0, 1e9)
watched = st.floats(1e-3, 1e9)
namespaces = st.lists(st.tuples(counts, watched), min_size=1, max_size=8)


@given(namespaces, counts, watched)
def test_one_more_namespace_changes_a_shared_rate_by_a_bounded_factor(
    others: list[tuple[float, float]], events: float, days: float
) -> None:
    """Whatever it counts, and however long it says it was watched: of each of the others."""
    least = np.full((len(others) + 1, 1), 0.5)
    seen = np.array([[other[0]] for other in [*others, (events, days)]])
    spans = np.array([other[1] for other in [*others, (events, days)]])
    with_it, in_all = neighbours.heard(seen, spans, least=least)
    without, before = neighbours.heard(seen[:-1], spans[:-1], least=least[:-1])
    factors = (with_it[:-1, 0] / in_all[:-1]) / (without[:, 0] / before)
    assert np.all(factors <= neighbours.FACTOR * (1 + 1e-9))
    assert np.all(factors >= 1 / neighbours.FACTOR * (1 - 1e-9))


def test_many_namespaces_that_agree_are_heard() -> None:
    """Each a little, all together much: one that was lucky learns what the others saw."""
    events, days = np.array([[0.5], *[[4.0]] * 60]), np.full(61, 40.0)
    together, in_all = neighbours.heard(events, days, least=np.full((61, 1), 0.5))
    assert together[0, 0] / in_all[0] > 0.9 * 0.5 / 40.0
    assert in_all[0] == pytest.approx(40.0 * (1 + 60 / 3))


def test_dozens_that_agree_tell_of_what_the_namespace_has_never_seen() -> None:
    """A namespace whose own values leave next to nothing for long freezes half believes sixty others, hardly three."""
    for others, least_share, most_share in ((60, 0.4, 0.5), (3, 0.0, 0.001)):
        events, days = np.array([[1e-4], *[[4.0]] * others]), np.full(others + 1, 40.0)
        together, in_all = neighbours.heard(events, days, least=np.full((others + 1, 1), 1e-6))
        theirs = 4.0 / 40.0
        assert least_share <= together[0, 0] / (in_all[0] - 40.0) / theirs <= most_share


few_or_many = st.sampled_from([0.0, 0.1, 1.0, 20.0]) | counts
falling = st.lists(few_or_many, min_size=3, max_size=3).map(lambda values: sorted(values, reverse=True))
short_or_long = st.sampled_from([1.0, 20.0, 100.0]) | st.floats(0.1, 1e4)
crowds = st.lists(st.tuples(falling, short_or_long, st.integers(1, 30)), min_size=2, max_size=4)


@given(crowds)
def test_what_falls_with_time_in_each_namespace_falls_in_all(several: list[tuple[list[float], float, int]]) -> None:
    """However many there are of each, and however long they were watched: a model whose rates rise is refused."""
    events = np.array([each for each, _, size in several for _ in range(size)])
    days = np.array([watched for _, watched, size in several for _ in range(size)])
    together, _ = neighbours.heard(events, days, least=np.full(events.shape, 0.01) * np.array([1.0, 0.9, 0.8]))
    assert np.all(np.diff(together, axis=1) <= 0)


def test_one_that_was_watched_for_a_day_lets_no_rate_rise() -> None:
    """Beside many that were watched for longer: with turns by the rate of each time it did."""
    each = [[400.0], *[[400.0] * 19] * 8, *[[60.0]] * 27]
    held = np.asarray(dense(map(Histogram.of, each)))
    spans = np.array([100.0] + [20.0] * 8 + [1.0] * 27)
    pool = Pool.of_homes(held, spans, np.arange(36))[0]
    assert np.all(np.diff(pool.per_day) <= 0)


def test_of_thousands_of_namespaces_one_more_still_moves_little() -> None:
    """It takes the place of one of those that are asked at most, though every other one says something else."""
    events = np.tile([[0.0], [5.0]], (2_048, 1))
    days, least = np.full(4_096, 40.0), np.full((4_096, 1), 1e-3)
    with_it, in_all = neighbours.heard(events, days, least=least)
    without, before = neighbours.heard(events[1:], days[1:], least=least[1:])
    factors = (with_it[1:, 0] / in_all[1:]) / (without[:, 0] / before)
    assert factors.max() <= neighbours.FACTOR**2
    assert factors.min() >= 1 / neighbours.FACTOR**2


def test_order_of_namespaces_changes_nothing() -> None:
    """Also of those with the same rate, some of which were watched for longer."""
    events = np.array([[1.0, 2.0], [3.0, 0.5], [2.0, 4.0], [4.0, 8.0], [9.0, 0.1]])
    days, least = np.array([10.0, 10.0, 20.0, 40.0, 5.0]), np.full((5, 2), 0.5)
    together, in_all = neighbours.heard(events, days, least=least)
    back, in_all_back = neighbours.heard(events[::-1], days[::-1], least=least)
    assert together.tolist() == back[::-1].tolist()
    assert in_all.tolist() == in_all_back[::-1].tolist()


def test_one_namespace_alone_is_what_it_is() -> None:
    """Nothing is added, and nothing taken away."""
    together, in_all = neighbours.heard(np.array([[3.0, 0.0]]), np.array([7.0]), least=np.array([[0.5, 0.5]]))
    assert (together.tolist(), in_all.tolist()) == ([[3.0, 0.5]], [7.0])


def pools(each: list[list[float]], homes: list[int], days: float = 20.0) -> dict[int, Pool]:
    """Return the pools of groups that were watched for as long."""
    held = np.asarray(dense(map(Histogram.of, each)))
    return Pool.of_homes(held, np.full(len(each), days), np.array(homes))


HONEST = [[5.0], [20.0, 3.0], [0.1], [8.0], [0.3], [4.0]]


@pytest.mark.parametrize("said", [[], [0.1], [400.0] * 500], ids=["nothing", "no freeze", "freezes all the time"])
@pytest.mark.parametrize("days", [0.1, 20.0, 20_000.0])
def test_a_pool_is_its_own_namespace_s(said: list[float], days: float) -> None:
    """Others move its rates by a bounded factor, at every time, and its spreads not at all."""
    before = pools(HONEST, [3] * 6)[3]
    every = [*HONEST, *[said] * 40]
    held = np.asarray(dense(map(Histogram.of, every)))
    spans = np.array([20.0] * 6 + [days] * 40)
    after = Pool.of_homes(held, spans, np.array([3] * 6 + [7] * 40))[3]
    factors = np.array(after.per_day) / np.array(before.per_day)
    assert np.all((factors <= neighbours.FACTOR + 1e-9) & (factors >= 1 / neighbours.FACTOR - 1e-9))
    assert after.spreads == before.spreads
    assert after.days <= before.days * neighbours.FACTOR + 1e-9


lasting = st.lists(st.floats(0.05, 600.0), max_size=3)
fleets = st.lists(st.lists(lasting, min_size=1, max_size=6), min_size=1, max_size=7)


@given(fleets, st.lists(lasting, min_size=1, max_size=6), st.floats(1e-3, 1e6), st.floats(1.0, 1e3))
def test_nobody_brings_a_pool_into_being_or_takes_it_away(
    honest: list[list[list[float]]], said: list[list[float]], days: float, many: float
) -> None:
    """With two to eight namespaces, the hostile one among them: also where it is the fifth, of a group or of six."""
    each = [group for fleet in honest for group in fleet]
    homes = np.array([home for home, fleet in enumerate(honest) for _ in fleet])
    held, spans = np.asarray(dense(map(Histogram.of, each))), np.full(len(each), 4.0)
    before = Pool.of_homes(held, spans, homes)
    theirs = many * np.asarray(dense(map(Histogram.of, said)))
    after = Pool.of_homes(
        np.vstack([held, theirs]),
        np.append(spans, np.full(len(said), days)),
        np.append(homes, np.full(len(said), len(honest))),
    )
    assert set(before) == set(after) - {len(honest)}
    for home, was in before.items():
        factors = np.array(after[home].per_day) / np.array(was.per_day)
        assert np.all((factors <= neighbours.FACTOR * (1 + 1e-9)) & (factors >= 1 / neighbours.FACTOR * (1 - 1e-9)))
        assert after[home].spreads == was.spreads


def test_who_saw_nothing_has_no_pool() -> None:
    """Whatever others saw; one group that saw something has one."""
    assert sorted(pools([[5.0]] + [[]] * 9, [0, *range(1, 10)])) == [0]
    assert Pool.of_homes(np.zeros((1, BUCKETS)), np.zeros(1), np.zeros(1, dtype=np.int64)) == {}


def test_rates_are_drawn_to_the_own_namespace() -> None:
    """Thousands of groups elsewhere that crash all the time, or never, change little."""
    own, exposure = np.array([1.0, 0.0, 2.0]), np.full(3, 40.0)
    alone = rates.rates(own, exposure).mean
    for many in (0.0, 4_000.0):
        beside = rates.rates(
            np.append(own, np.full(500, many)),
            np.append(exposure, np.full(500, 1e4)),
            homes=np.array([1] * 3 + [0] * 500),
        ).mean[:3]
        assert np.all(np.maximum(beside / alone, alone / beside) <= neighbours.FACTOR + 1e-9)


def test_a_namespace_without_durations_gets_nobody_else_s() -> None:
    """How long restarts take is each one's own."""
    held = np.asarray(dense(map(Histogram.of, [[20.0] * 9, []])))
    own, other = rates.durations(held, homes=np.array([0, 1]))
    assert own is not None
    assert own == rates.durations(held[:1])[0]
    assert other is None


def exceeding(shape: float, groups: int, *, seed: int) -> list[np.ndarray]:
    """Return exceedances of a second by groups with one law."""
    rng = np.random.default_rng(seed)
    return [0.5 * ((rng.random(60) ** -shape) - 1.0) / shape + 1.0 for _ in range(groups)]


def test_a_belief_about_shapes_is_a_namespaces_own() -> None:
    """Six hundred groups of a very light law elsewhere do not move it."""
    first = int(np.searchsorted(EDGES_S, 1.0))

    def believed(others: int) -> np.ndarray:
        several = [*exceeding(0.3, 12, seed=1), *exceeding(-0.4, others, seed=2)]
        held = np.asarray(dense(map(Histogram.of, several)))
        belief, _ = fleet_prior.learn(
            Exceedances.over(held, np.full(len(held), first), cut=np.full(len(held), BUCKETS)),
            strata=np.zeros(len(held), dtype=np.int64),
            weight=np.ones(len(held)),
            homes=np.array([0] * 12 + [1] * others),
        )
        return np.asarray(belief.mean[0])

    assert believed(600) == pytest.approx(believed(0), abs=1e-3)
