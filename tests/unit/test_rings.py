"""How the rings are run."""

from collections import deque

from tests import rings
from tests.rings import Ring


def test_what_a_ring_compiles_is_kept_even_where_python_is_told_to_keep_nothing() -> None:
    """Else each of hundreds of processes compiles the same modules again."""
    theirs = rings.environment({"PATH": "/bin", "PYTHONDONTWRITEBYTECODE": "1"})
    assert theirs == {"PATH": "/bin", "PYTHONPYCACHEPREFIX": str(rings.CHECKOUT / "build" / "bytecode")}


def test_a_place_of_our_own_for_bytecode_stays() -> None:
    """Who names one has a reason."""
    assert rings.environment({"PYTHONPYCACHEPREFIX": "/cache"}) == {"PYTHONPYCACHEPREFIX": "/cache"}


def _names(lanes: list[list[deque[rings.Ring]]]) -> list[list[list[str]]]:
    return [[[ring.name for ring in lot] for lot in lots] for lots in lanes]


def test_four_lanes_share_what_is_left() -> None:
    """Two wait at once; who has done its own lot helps with the others'."""
    waiting, computing, pure = Ring("e2e", (), waits=True), Ring("chart", ()), Ring("unit", (), pure=True)
    second = Ring("faults", (), waits=True)
    found = rings.lanes([pure, computing, waiting, second])
    waits = ["e2e", "faults"]
    assert _names(found) == [[waits], [waits], [["chart"], waits], [["unit"], ["chart"], waits]]
    found[3][1].popleft()
    assert not found[2][0]


def test_a_ring_that_is_run_alone_is_shown() -> None:
    """Whoever asks for one watches it."""
    for ring in rings.RINGS:
        assert _names(rings.lanes([ring]))[0][0] == [ring.name]
        assert len(rings.lanes([ring])) == 1


def test_a_story_that_fails_is_one_failure_however_many_tests_look_at_it() -> None:
    """Tests that fail themselves count one by one, even with the same words."""
    story = {f"tests.trust.test_rollouts::test_{number}": "failed on setup with 'nobody waits'" for number in range(11)}
    alone = dict.fromkeys(("tests.trust.test_walk::test_a", "tests.trust.test_walk::test_b"), "AssertionError")
    assert rings.failures({}) == 0
    assert rings.failures(story) == 1
    assert rings.failures(story | alone) == 3
