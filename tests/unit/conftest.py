"""What holds for the unit ring: eleven thousand tests in one process."""

import gc


def pytest_collection_finish() -> None:
    """Leave modules and tests out when garbage is looked for: half a million objects, and all of them stay."""
    gc.collect()
    gc.freeze()
