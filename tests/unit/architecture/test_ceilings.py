"""The product is built no worse than it was: a ratchet over the figures of `make architecture`."""

from typing import Any

import pytest

from tests.architecture import figures, glossary, goals, source

pytestmark = pytest.mark.no_cover  # parses the whole product


def test_no_figure_is_above_its_ceiling() -> None:
    """What was brought down stays down; the message says which figure rose, and what to do."""
    words = glossary.parse(source.glossary_page())
    measured = figures.measure(source.product(), source.elsewhere(), source.pages(), words)
    complaints = list(goals.above_ceilings(measured.figures, goals.read_ceilings()))
    if complaints:
        pytest.fail("\n".join(complaints), pytrace=False)


def test_a_figure_above_its_ceiling_says_what_to_do() -> None:
    """Which, by how much, how it is brought down, and where to look."""
    (complaint,) = goals.above_ceilings(
        {"functions_over_60": 1, "input_spread": 9}, {"functions_over_60": 0, "input_spread": 9}
    )
    assert complaint == (
        "functions_over_60 is 1, and must not be above 0, what it was before: split the new long function: it does two "
        "things; `make architecture` lists what it is made of in build/architecture.json under details, "
        "functions_over_40"
    )
    assert list(goals.above_ceilings({"input_spread": 9}, {})) == [
        "input_spread has no ceiling: run `make architecture LOWER=1`"
    ]


def test_ceilings_only_fall() -> None:
    """A figure that rose leaves its ceiling where it is."""
    assert goals.lowered({"input_spread": 9, "files_over_300": 5}, {"input_spread": 12, "files_over_300": 3}) == {
        "input_spread": 9,
        "files_over_300": 3,
    }


def test_goals_that_are_missed_are_named() -> None:
    """Beside what each figure is and should be."""
    met: dict[str, Any] = dict(goals.GOALS)
    assert goals.table(met, met).endswith("all goals are met")
    missed = goals.table({**met, "input_spread": 12}, met).splitlines()
    assert missed[1].split() == ["input_spread", "12", "11", "11", "missed"]
    assert missed[-1] == "goals missed: input_spread"


def test_every_figure_has_goal_ceiling_and_advice() -> None:
    """A figure that is added cannot be forgotten there."""
    ceilings = goals.read_ceilings()
    assert set(ceilings) == set(goals.GOALS)
    for name in ceilings:
        assert name in next(goals.above_ceilings({name: ceilings[name] + 1}, ceilings))
