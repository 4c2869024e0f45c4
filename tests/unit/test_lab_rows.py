"""Each library of the catalogue has its place in the laboratory."""

import pytest

from heartbeat_tuner.clients import catalogue
from tests.lab import experiments, rows


def test_each_client_of_the_catalogue_has_a_row() -> None:
    """A card that nobody proves is folklore."""
    assert {row.client for row in rows.ROWS} == set(catalogue.CLIENTS)


@pytest.mark.parametrize("name", catalogue.CLIENTS)
def test_each_client_is_tried_idle_and_at_its_end(name: str) -> None:
    """The beat, and what kills, pauses and closes cost; no two experiments have one name."""
    names = [one.name for one in experiments.of(catalogue.client(name))]
    assert {"idle, defaults", "idle, H 1 s", "SIGKILL", "SIGSTOP", "closed"} <= set(names)
    assert len(set(names)) == len(names)
