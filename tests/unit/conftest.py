"""What holds for the unit ring: twelve thousand tests, in one process those that are traced, in another the rest."""

import gc
import tomllib
from pathlib import Path
from typing import Final

import pytest

_CHECKOUT: Final = Path(__file__).parents[2]

_ALSO_TRACED: Final = (
    "adapters/http/test_telemetry.py",
    "api/test_canary_notes.py",
    "api/test_naming.py",
    "cli/checking/",
    "cli/group/test_group_options.py::test_a_group_of_the_streams_protocol_is_decided",
    "cli/group/test_group_options.py::test_what_collides_is_infeasible_and_names_both",
    "cli/group/test_sample_group.py::test_it_is_what_the_command_makes",
    "cli/test_doctor.py::",
    "reconcile/at_broker/test_group_writer.py::test_a_session_is_raised_once_and_the_workload_is_left_alone",
    "reconcile/canaries/test_canary_cycles.py::test_a_deleted_policy_leaves_pods_with_the_values_and_an_event",
    "reconcile/canaries/test_canary_cycles.py::test_a_quarter_of_the_pods_has_the_values_first_and_then_all",
    "reconcile/canaries/test_canary_cycles.py::test_in_another_mode_nobody_is_evicted_any_more",
    "reconcile/canaries/test_canary_cycles.py::test_pods_of_values_that_failed_are_named_where_nobody_may_evict_them",
    "reconcile/gather/test_own_client_ids.py",
    "reconcile/series/test_mapped.py",
    "reconcile/status/test_static_advice.py",
    "reconcile/test_following.py",
    "reconcile/test_heartbeat_budget.py",
    "reconcile/test_several_workloads.py::test_what_a_person_took_back_from_the_first_never_goes_on",
    "reconcile/test_several_workloads.py::test_what_did_harm_goes_back_though_another_workload_was_deleted",
    "reconcile/test_several_workloads.py::test_whoever_leads_takes_back_from_all",
)
"""How the ids of tests begin that take branches which no test of their layer takes. Better is a test in its room."""

_SELDOM: Final = (10_000, 10, 100)
"""After how many objects, and looks, Python looks for garbage; its own are 700, 10 and 10."""


def _traced() -> tuple[str, ...]:
    """Return how the ids of traced tests begin: those of the layers whose branches are counted, and some more."""
    run = tomllib.loads((_CHECKOUT / "pyproject.toml").read_text())["tool"]["coverage"]["run"]
    rooms = (f"{Path(layer).name}/" for layer in run["source"])
    return tuple(f"tests/unit/{place}" for place in (*rooms, *_ALSO_TRACED))


_TRACED: Final = _traced()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import no file that has nothing for the process that was asked for: half of a collection was that."""
    wanted = config.getoption("markexpr")
    if collection_path.suffix != ".py" or wanted not in {"no_cover", "not no_cover"}:
        return None
    traced, untraced = holds(collection_path)
    return None if (traced if wanted == "not no_cover" else untraced) else True


def holds(file: Path) -> tuple[bool, bool]:
    """Return whether a file of tests may have some that are traced, and some that are not."""
    name = file.relative_to(_CHECKOUT).as_posix()
    all_traced = name.startswith(_TRACED)
    some_traced = all_traced or any(place.startswith(f"{name}::") for place in _TRACED)
    return some_traced, not all_traced or any(word in file.read_text() for word in ("no_cover", "hypothesis"))


def _draws(item: pytest.Item) -> bool:
    """Whether Hypothesis draws a test's cases."""
    return bool(getattr(getattr(item, "obj", None), "is_hypothesis_test", False))


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave other rooms untraced, and tests that draw: tracing takes two thirds more.

    A layer's branches are its own tests' business, and those of chosen cases: what drawn ones take differs by chance.
    """
    for item in items:
        if not item.nodeid.startswith(_TRACED) or _draws(item):
            item.add_marker("no_cover")


def pytest_configure() -> None:
    """Look for no garbage while tests are collected, and seldom after that: next to nothing of it is in cycles."""
    gc.disable()
    gc.set_threshold(*_SELDOM)


def pytest_collection_finish() -> None:
    """Leave modules and tests out when garbage is looked for: half a million objects, and all of them stay."""
    gc.enable()
    gc.collect()
    gc.freeze()


def pytest_runtest_setup() -> None:
    """Run finalizers of earlier tests now, and not deep in this test, where a recursion may have left them no frame.

    A test that parses a document nested too deep allocates a thousand objects. The next collection is due after ten
    thousand.
    """
    gc.collect(0)
