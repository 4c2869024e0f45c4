"""How pytest is run here: the same way where lines are recorded and where mutants are tried.

No plugin is loaded that is not named, random numbers have fixed seeds, and properties draw few examples, always the
same ones: a mutant that is killed today is killed tomorrow.
"""

import hypothesis
import pytest

OPTIONS = (
    "--quiet",
    "--no-header",
    "--tb=short",
    "-pno:cacheprovider",
    "-pasyncio",
    "-phypothesispytest",
    "-ptimeout",
    "-prandomly",
    "--randomly-dont-reorganize",
    "--randomly-seed=22",
    "-Wignore::pytest.PytestAssertRewriteWarning",  # the plugins are imported before pytest looks at them
)

ENVIRONMENT = {
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    "OPENBLAS_NUM_THREADS": "1",  # a process is one core's work
}

_EXAMPLES = 25


class Settled:
    """Pytest plugin: sets how examples are drawn, after the checkout's conftest has."""

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self) -> None:
        """Load the profile."""
        hypothesis.settings.register_profile(
            "mutants",
            derandomize=True,
            max_examples=_EXAMPLES,
            database=None,
            deadline=None,
            suppress_health_check=list(hypothesis.HealthCheck),
        )
        hypothesis.settings.load_profile("mutants")
