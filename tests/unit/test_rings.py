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


def test_five_lanes_share_what_is_left() -> None:
    """Three wait at once; who has done its own lot helps with the others'."""
    waiting, computing, pure = Ring("e2e", (), waits=True), Ring("chart", ()), Ring("unit", (), pure=True)
    more = [Ring(name, (), waits=True) for name in ("faults", "trust", "hostile")]
    found = rings.lanes([pure, computing, waiting, *more])
    waits = ["e2e", "faults", "trust", "hostile"]
    assert _names(found) == [[waits], [waits], [waits], [["chart"], waits], [["unit"], ["chart"], waits]]
    found[4][1].popleft()
    assert not found[3][0]


def test_no_lane_is_begun_for_which_there_is_no_ring() -> None:
    """Two rings that wait need two lanes."""
    some = [Ring(name, (), waits=True) for name in ("e2e", "faults")]
    assert _names(rings.lanes(some)) == [[["e2e", "faults"]], [["e2e", "faults"]]]


def test_a_ring_that_is_run_alone_is_shown() -> None:
    """Whoever asks for one watches it."""
    for ring in rings.RINGS:
        assert _names(rings.lanes([ring]))[0][0] == [ring.name]
        assert len(rings.lanes([ring])) == 1
