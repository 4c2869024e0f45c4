"""Each case of tests/check_cases comes out as it was written by hand."""

import json
from pathlib import Path

import pytest

from bench import check as bench_check
from tests.support import check_cases
from tests.support.check_cases import CheckCase
from tests.support.checks import run


@pytest.mark.parametrize("case", check_cases.cases(), ids=str)
def test_a_case_is_judged_as_its_author_did(case: CheckCase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All values are read, and the errors and warnings are those of somebody who knows the library."""
    monkeypatch.chdir(tmp_path)
    result = run("check", "--output=json", *case.write(tmp_path))
    assert result.exit_code in {0, 1}, result.output
    outcome = bench_check.judged(case, json.loads(result.stdout), 0.0, 0.0)
    assert (list(outcome.missed), list(outcome.surplus), outcome.complaint) == ([], [], "")


def test_no_case_ends_in_silence() -> None:
    """A case says what is read, or what is found: else it could not fail."""
    assert [case.name for case in check_cases.cases() if not case.reads and not case.expect] == []
