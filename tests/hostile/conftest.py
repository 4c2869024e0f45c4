"""Ring hostile: a tenant reaches no other. Each test proves that a door is closed, on a real API server."""

from tests.e2e.conftest import *  # noqa: F403 - pytest finds fixtures by name in this module
