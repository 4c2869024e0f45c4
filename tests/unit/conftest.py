"""What holds for the unit ring: eleven thousand tests in one process."""

import gc

import pytest


@pytest.hookimpl(trylast=True)  # after the shuffle
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run first what is traced: what an untraced test has put into a cache is never traced."""
    items.sort(key=lambda item: item.get_closest_marker("no_cover") is not None)


def pytest_collection_finish() -> None:
    """Leave modules and tests out when garbage is looked for: half a million objects, and all of them stay."""
    gc.collect()
    gc.freeze()
