"""How the rings are run."""

from tests import rings


def test_what_a_ring_compiles_is_kept_even_where_python_is_told_to_keep_nothing() -> None:
    """Else each of hundreds of processes compiles the same modules again."""
    theirs = rings.environment({"PATH": "/bin", "PYTHONDONTWRITEBYTECODE": "1"})
    assert theirs == {"PATH": "/bin", "PYTHONPYCACHEPREFIX": str(rings.CHECKOUT / "build" / "bytecode")}


def test_a_place_of_our_own_for_bytecode_stays() -> None:
    """Who names one has a reason."""
    assert rings.environment({"PYTHONPYCACHEPREFIX": "/cache"}) == {"PYTHONPYCACHEPREFIX": "/cache"}
