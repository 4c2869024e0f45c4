"""The campaign can be run in pieces: what was run stays, and what was not run is not called passed."""

from tests.campaign import PAGE, PARTS, Result, known_results, merged, page


def _result(name: str, *, ok: bool = True, commit: str = "aaaa") -> Result:
    return Result(name, ok, 7, commit, "2026-11-25")


def test_a_part_that_is_run_again_replaces_its_own_result_alone() -> None:
    """Pieces of a campaign add up."""
    lab, gitops = _result("lab"), _result("gitops", ok=False)

    results = merged([gitops, lab], _result("gitops", commit="bbbb"))

    assert results == [_result("gitops", commit="bbbb"), lab]


def test_the_page_names_parts_that_failed_and_those_that_were_not_run() -> None:
    """Nobody takes a missing part for one that passed."""
    lines = page([_result("lab", ok=False)], machine="2 cores").splitlines()

    assert "| lab | **failed** | 7 | `aaaa` | 2026-11-25 |" in "\n".join(lines)
    assert sum("not run yet" in line for line in lines) == len(PARTS) - 1


def test_results_are_read_from_the_page_and_parts_that_are_gone_forgotten() -> None:
    """Another machine goes on from the page; a part that was renamed does not stay on it for ever."""
    results = [_result("gitops", ok=False, commit="bbbb+"), _result("lab")]
    text = page(results, machine="2 cores")
    assert known_results(text) == results
    assert known_results(text.replace("| lab |", "| gone |")) == results[:1]


def test_the_committed_page_is_read_whole() -> None:
    """Each row that was run: one that is not read would be lost at the next run."""
    text = PAGE.read_text()
    assert len(known_results(text)) == text.count(" passed | ") + text.count(" **failed** | ") > 0
