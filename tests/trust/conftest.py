"""Ring trust: Apply does no harm. Each test proves a row of what was seen to hurt, on real parts."""

from tests.e2e.conftest import *  # noqa: F403 - pytest finds fixtures by name in this module
