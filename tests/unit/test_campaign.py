"""The campaign can be run in pieces: what was run stays, and what was not run is not called passed."""

import json
from pathlib import Path

from tests.campaign import PARTS, Result, known_results, merged, page


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


def test_results_of_an_earlier_run_are_read_and_parts_that_are_gone_forgotten(tmp_path: Path) -> None:
    """A part that was renamed does not stay on the page for ever."""
    path = tmp_path / "campaign.json"
    assert known_results(path) == []
    gone = {"name": "gone", "ok": True, "seconds": 1, "commit": "a", "day": "2026-01-01"}
    lab = {"name": "lab", "ok": True, "seconds": 7, "commit": "aaaa", "day": "2026-11-25"}
    path.write_text(json.dumps({"parts": [gone, lab]}))

    assert known_results(path) == [_result("lab")]
