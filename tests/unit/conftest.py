"""What holds for the unit ring: twelve thousand tests, in one process those that are traced, in another the rest."""

import gc
import tomllib
from pathlib import Path
from typing import Final

import pytest

_UNIT: Final = Path(__file__).parent
_PYPROJECT: Final = _UNIT.parents[1] / "pyproject.toml"

_ALSO_TRACED: Final = (
    "api",
    "cli",
    "adapters/http/test_telemetry.py",
    "reconcile/at_broker/test_group_writer.py",
    "reconcile/canaries/test_canary_cycles.py",
    "reconcile/gather/test_own_client_ids.py",
    "reconcile/series/test_mapped.py",
    "reconcile/status/test_static_advice.py",
    "reconcile/test_following.py",
    "reconcile/test_heartbeat_budget.py",
    "reconcile/test_several_workloads.py",
)
"""Folders and files that take branches which no test in the room of their layer takes. Better is a test there."""

_SELDOM: Final = (10_000, 10, 100)
"""After how many objects, and looks, Python looks for garbage; its own are 700, 10 and 10."""


def _traced() -> tuple[Path, ...]:
    """Return which folders and files are traced: the rooms of the layers whose branches are counted, and some more."""
    run = tomllib.loads(_PYPROJECT.read_text())["tool"]["coverage"]["run"]
    return tuple(_UNIT / place for place in (*(Path(layer).name for layer in run["source"]), *_ALSO_TRACED))


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave other rooms untraced: tracing takes two thirds more, and a layer's branches are its own tests' business."""
    traced = _traced()
    files = {item.path for item in items}  # up to 2,500 tests share one
    untraced = {file for file in files if not any(file.is_relative_to(place) for place in traced)}
    for item in items:
        if item.path in untraced:
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
