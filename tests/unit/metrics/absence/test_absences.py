"""The absences of a group: the largest that a witness shows, and one stop of a node once."""

from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.domain.evidence import Absence, AbsenceSignal
from heartbeat_tuner.metrics.absence import absences, blocks, missing_beats
from heartbeat_tuner.metrics.absence.absences import BlockAbsence
from heartbeat_tuner.metrics.vocabulary import Quantity
from tests.support import counters

SHOWN = st.lists(
    st.builds(
        lambda pod, witness, seen_s, sure_s, more_s: Absence(pod, witness, seen_s, sure_s, sure_s + more_s),
        st.sampled_from(["orders-0", "orders-1", "orders-2"]),
        st.sampled_from(AbsenceSignal),
        st.floats(0, 1_000),
        st.one_of(st.just(0.0), st.floats(0, 60)),
        st.floats(0, 60),
    ),
    max_size=30,
)


@given(SHOWN)
def test_the_absence_of_a_block_is_the_largest_shown_and_never_the_sum(shown: list[Absence]) -> None:
    """Witnesses show the same stop; together they know no more of its length than the one that knows most."""
    found = absences.by_block(shown)
    assert len({(item.pod, item.block_s) for item in found}) == len(found)
    for item in found:
        mine = [other for other in shown if other.pod == item.pod and blocks.start_s(other.seen_s) == item.block_s]
        assert item.at_least_s == max(other.at_least_s for other in mine) > 0
        assert item.at_most_s == max(other.at_most_s for other in mine)
        assert (item.signal, item.seen_s) in {(other.signal, other.seen_s) for other in mine}
    blocks_with_one = {(item.pod, blocks.start_s(item.seen_s)) for item in shown if item.at_least_s > 0}
    assert {(item.pod, item.block_s) for item in found} == blocks_with_one


def stop(pod: str, seen_s: float, lasted_s: float = 20.0) -> BlockAbsence:
    """Return an absence of one member."""
    return BlockAbsence(pod, blocks.start_s(seen_s), seen_s, lasted_s, lasted_s + 5, AbsenceSignal.FAILED_SCRAPES)


NODES = {"orders-0": "n-1", "orders-1": "n-1", "orders-2": "n-2"}


def test_a_node_that_stands_still_is_one_event() -> None:
    """The longest of its members' absences stands for it; another node's is another event."""
    both = [stop("orders-0", 100.0, 20.0), stop("orders-1", 115.0, 22.0), stop("orders-2", 105.0, 21.0)]
    assert absences.once_per_node(both, NODES) == [both[1], both[2]]


def test_a_node_that_stands_still_across_a_blocks_edge_is_one_event() -> None:
    """One member was scraped just before it, the other just after."""
    edge = [stop("orders-0", 89.0), stop("orders-1", 91.0, 21.0)]
    assert edge[0].block_s != edge[1].block_s
    assert absences.once_per_node(edge, NODES) == [edge[1]]


def test_absences_apart_are_several_events() -> None:
    """A later one, and a second one of the same member."""
    later = [stop("orders-0", 100.0), stop("orders-1", 190.0)]
    assert absences.once_per_node(later, NODES) == later
    again = [stop("orders-0", 100.0), stop("orders-0", 185.0), stop("orders-1", 186.0, 30.0)]
    assert absences.once_per_node(again, NODES) == [again[0], again[2]]


def test_short_absences_and_pods_on_unknown_nodes_are_counted_each() -> None:
    """Two collections of garbage within a block met by chance; where pods run nobody said."""
    short = [stop("orders-0", 100.0, 0.9), stop("orders-1", 100.0, 0.9)]
    assert absences.once_per_node(short, NODES) == short
    unknown = [stop("orders-0", 100.0), stop("orders-1", 100.0)]
    assert absences.once_per_node(unknown, {"orders-0": "n-1"}) == unknown


STOPS = st.lists(
    st.builds(stop, st.sampled_from([*NODES]), st.floats(0, 1_000), st.floats(0.1, 60)),
    max_size=20,
    unique_by=lambda observation: (observation.pod, observation.block_s),
)


@given(STOPS)
def test_the_longest_absence_of_a_node_is_never_dropped(found: list[BlockAbsence]) -> None:
    """Nothing is invented, and what is left out was with a longer one on its node."""
    once_per_node = absences.once_per_node(found, NODES)
    assert set(once_per_node) <= set(found)
    for item in set(found) - set(once_per_node):
        assert any(
            NODES[other.pod] == NODES[item.pod]
            and other.at_least_s >= item.at_least_s
            and abs(other.seen_s - item.seen_s) < blocks.BLOCK_S
            for other in once_per_node
        )


def test_nodes_are_told_by_who_lives_there() -> None:
    """The node of cAdvisor is its pods'; that of kube-state-metrics would be its own."""
    platform = {
        Quantity.CPU_PERIODS: [counters.series([], pod="orders-0", node="n-1")],
        Quantity.SCRAPED: [counters.series([], pod="orders-1", node="n-2"), counters.series([], pod="orders-2")],
        Quantity.POD_STARTED: [counters.series([], pod="orders-2", node="n-9")],
    }
    assert absences.nodes_of(platform) == {"orders-0": "n-1", "orders-1": "n-2"}


def test_a_block_that_was_watched_and_shows_nothing_is_known_to() -> None:
    """Without them, the rate of what was seen would be that of the bad blocks alone."""
    calm = counters.series((30.0 * number, 0.0) for number in range(12))
    shown, watched, withheld = absences.shown({Quantity.REBALANCES: [calm]}, {Quantity.GC_PAUSE_MAX: [calm]}, [])
    assert absences.by_block(shown) == []
    assert watched == {("orders-0", 90.0 * number) for number in range(4)}
    assert withheld == []


def test_every_witness_is_heard() -> None:
    """Each shows a stop of its own in a block of its own."""
    every = [(30.0 * number) for number in range(60)]

    def once(at_s: float, value: float, usual: float = 0.0) -> list[tuple[float, float]]:
        return [(time_s, value if time_s == at_s else usual) for time_s in every]

    def grown(at_s: float, by: float) -> list[tuple[float, float]]:
        return [(time_s, by if time_s >= at_s else 0.0) for time_s in every]

    observed = {
        Quantity.POLL_GAP_MAX: [counters.series(once(900.0, 5.0, usual=0.3))],
        Quantity.HEARTBEATS: [
            counters.series((time_s, time_s / 3.0 - (10.0 if time_s >= 1_200.0 else 0.0)) for time_s in every)
        ],
    }
    platform = {
        Quantity.GC_PAUSE_MAX: [counters.series(once(90.0, 3.0))],
        Quantity.CPU_THROTTLED_PERIODS: [counters.series(grown(300.0, 10.0))],
        Quantity.CPU_THROTTLED_TIME: [counters.series(grown(300.0, 0.5))],
        Quantity.CPU_STALLED_TIME: [counters.series(grown(300.0, 9.0))],
        Quantity.EVENT_LOOP_LAG_MAX: [counters.series(once(480.0, 4.0))],
        Quantity.SCRAPED: [
            counters.series(once(690.0, 0.0, usual=1.0)),
            counters.series(once(-1.0, 0.0, usual=1.0), pod="orders-1"),
        ],
        Quantity.SCRAPE_TIME: [counters.series(once(690.0, 10.0, usual=0.01))],
    }
    shown, watched, withheld = absences.shown(observed, platform, missing_beats.of_group(observed))
    found = {item.signal: (item.block_s, item.at_least_s, item.at_most_s) for item in absences.by_block(shown)}
    assert found[AbsenceSignal.GC_PAUSE] == (90.0, 3.0, 3.0)
    assert found[AbsenceSignal.THROTTLING] == (270.0, 0.05, 9.0)  # the pressure leaves more open
    assert found[AbsenceSignal.EVENT_LOOP] == (450.0, 4.0, 4.0)
    assert found[AbsenceSignal.FAILED_SCRAPES][:2] == (720.0, 10.0)  # it is known when it has ended
    assert found[AbsenceSignal.POLL_GAP] == (900.0, 4.7, 5.0)
    assert 25.0 < found[AbsenceSignal.MISSING_BEATS][1] <= 30.0
    assert len(watched) == 20
    assert withheld == []
