"""A mutant is really run: what is imported is the changed source, and the file stays as it is."""

import json
import subprocess
import sys
import textwrap
from pathlib import Path

from tests.mutants.modules import CHECKOUT, Module
from tests.mutants.mutant import Mutant
from tests.mutants.report import figures, survivors
from tests.mutants.trial import Outcome

SUMS = "def double(number):\n    return number + number\n"
CHECKS = """
import pytest
import sums

@pytest.mark.parametrize("number", [sums.double(2)])
def test_double(number):
    assert sums.double(number) == 8
"""
RUN = """
import json, sys
from pathlib import Path
from tests.mutants.shelves import KnownTest
from tests.mutants.trial import Trial, try_all

folder, mutants = Path(sys.argv[1]), json.loads(sys.argv[2])
tests = [[KnownTest("test_sums.py::test_double[4]", 0.1, passes=True)]]
trials = [Trial("sums", folder / "sums.py", text, tests) for text in mutants]
trials.append(Trial("sums", folder / "sums.py", mutants[0], []))
print(json.dumps({number: outcome.name for number, outcome in try_all(trials, folder, folder)}))
"""


def test_tests_see_the_mutant_and_the_checkout_does_not(tmp_path: Path) -> None:
    """Whatever it does to the ids of tests; an equal one survives, and one without tests is not called killed."""
    (tmp_path / "pytest.ini").write_text("[pytest]\npythonpath = .\n")
    (tmp_path / "sums.py").write_text(SUMS)
    (tmp_path / "test_sums.py").write_text(textwrap.dedent(CHECKS))
    mutants = [
        SUMS,
        SUMS.replace("number + number", "2 * number"),
        SUMS.replace("number + number", "number - number"),
        SUMS.replace("number + number", "number +"),
    ]
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(tmp_path), json.dumps(mutants)],
        cwd=CHECKOUT,
        check=True,
        capture_output=True,
        text=True,
    )
    outcomes = json.loads(done.stdout)
    assert outcomes == {"0": "SURVIVED", "1": "SURVIVED", "2": "KILLED", "3": "KILLED", "4": "UNTRIED"}
    assert (tmp_path / "sums.py").read_text() == SUMS


def test_what_hangs_is_noticed_and_what_no_test_runs_is_not() -> None:
    """The score is the share of mutants that a test notices."""
    module = Module("operator/heartbeat_tuner/decision/sums.py", "decision", SUMS)
    mutant = Mutant(module, (2, 18), "ReplaceBinaryOperator_Add_Sub", SUMS.replace("+", "-"))
    results = [(mutant, outcome) for outcome in Outcome]
    assert figures(results) == {"mutants": 4, "killed": 1, "survived": 2, "timeouts": 1, "score": 0.5}
    assert [(alive.before, alive.after) for alive in survivors(results)] == 2 * [
        ("return number + number", "return number - number")
    ]
