"""A line is tried by the tests that run it, or that run what uses it."""

import textwrap
from pathlib import Path

from tests.mutants.covering import Covering
from tests.mutants.modules import Module
from tests.mutants.reach import files_that_reach
from tests.mutants.shelves import KnownTest, Shelf

LIMITS = Module(
    "operator/shop/limits.py",
    "shop",
    textwrap.dedent(
        """
        LEAST = least(1)

        class Range:
            low: int = LEAST

            def holds(self, value):
                return (
                    self.low
                    <= value
                )

        def least(step):
            return two() + step

        def two():
            return 2
        """
    ),
)
ASKING = Module("operator/shop/asking.py", "shop", "def ask(value):\n    return Range().holds(value)\n")

SLOW, QUICK, FAILS = (
    KnownTest("tests/unit/shop/test_limits.py::test_slow", 0.5, passes=True),
    KnownTest("tests/unit/shop/test_limits.py::test_quick", 0.1, passes=True),
    KnownTest("tests/unit/shop/test_limits.py::test_fails", 0.1, passes=False),
)
ASKED = KnownTest("tests/unit/test_asking.py::test_ask", 0.3, passes=True)
READS = KnownTest("tests/unit/test_reading.py::test_read", 0.2, passes=True)
LONG = KnownTest("tests/unit/test_asking.py::test_long", 100, passes=True)


def covering() -> Covering:
    """Return the tests of two files: of the limits, and of who asks for them."""
    return Covering(
        [
            Shelf((SLOW, QUICK, FAILS), {LIMITS.path: {9: 0b011, 10: 0b111}}),
            Shelf((READS,), {}),
            Shelf((ASKED, LONG), {LIMITS.path: {}, ASKING.path: {2: 0b11}}),
        ],
        [LIMITS, ASKING],
        {"shop.limits": {READS.file}},
    )


def test_a_line_is_tried_by_the_tests_that_run_its_statement() -> None:
    """The quickest first; a test that fails as things are says nothing, and one that takes too long is left out."""
    assert covering().tests_for(LIMITS.path, 10) == [QUICK, SLOW]


def test_a_line_that_runs_at_import_is_tried_by_the_tests_of_what_uses_it() -> None:
    """From the constant to the field, to the class, to the function that makes it; a test may only read it."""
    assert covering().tests_for(LIMITS.path, 2) == [QUICK, READS, ASKED, SLOW]


def test_a_function_that_only_runs_at_import_is_tried_by_the_tests_of_what_it_makes() -> None:
    """No test calls it, nor what it calls."""
    assert covering().tests_for(LIMITS.path, 14) == [QUICK, READS, ASKED, SLOW]
    assert covering().tests_for(LIMITS.path, 17) == [QUICK, READS, ASKED, SLOW]


def test_the_files_about_a_line_come_first() -> None:
    """Then all others."""
    assert covering().lots(LIMITS.path, [QUICK, ASKED, SLOW, LONG]) == [[QUICK, ASKED, SLOW], [LONG]]
    assert covering().lots(LIMITS.path, []) == []


def test_only_test_files_that_import_what_is_changed_are_run(tmp_path: Path) -> None:
    """However far down."""
    sources = {
        "operator/shop/decision/gates.py": "",
        "operator/shop/cycle.py": "from shop.decision import gates",
        "operator/shop/pages.py": "import datetime",
        "tests/support/worlds.py": "def make():\n    import shop.cycle",
        "tests/unit/test_cycle.py": "from tests.support.worlds import make",
        "tests/unit/test_pages.py": "from shop import pages",
    }
    for path, text in sources.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    files = [path for path in sources if path.startswith("tests/unit/")]
    assert files_that_reach(["operator/shop/decision"], files, tmp_path) == ["tests/unit/test_cycle.py"]
