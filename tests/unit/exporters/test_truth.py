"""What the coordinator knew, from verbatim lines of a 4.4.0 broker.

Of two Java members at 127.154.1.1 and .2, the first was evicted in a pause and came back; later the second outlasted M.
"""

import datetime as dt
from pathlib import Path
from typing import Any

import pytest

from tests.exporters import truth

LINES = (Path(__file__).parent / "data" / "kafka-requests.log").read_text().splitlines()
GROUP = "jmx-1-default-group"
PODS = {"127.154.1.1": "one", "127.154.1.2": "two"}
BEGAN_S = int(LINES[0].partition(" ")[0]) / 1000 - 5
ENDED_S = BEGAN_S + 100
MEMBER = "consumer-jmx-1-default-group-1-1b32dddd-17f4-48aa-8be1-db5a160e6391"


def _broker_log(at_s: float) -> list[str]:
    """Return how the broker says that it gave the first member up; it writes local times."""
    local = dt.datetime.fromtimestamp(at_s).isoformat(timespec="milliseconds").replace(".", ",")  # noqa: DTZ006 - as it does
    where = "[GroupCoordinator id=1 topic=__consumer_offsets partition=0]"
    failed = f"Member {MEMBER} in group {GROUP} has failed, removing it from the group."
    return [f"{local} INFO  GroupMetadataManager: {where} {failed}"]


def _read(**told_to_end_s: float) -> dict[str, Any]:
    broker_log = _broker_log(BEGAN_S + 4.5)
    return truth.read(
        LINES, broker_log, group=GROUP, pods=PODS, told_to_end_s=told_to_end_s, began_s=BEGAN_S, ended_s=ENDED_S
    ).document


@pytest.fixture
def found() -> dict[str, Any]:
    """The truth of all lines."""
    return _read()


def test_an_eviction_has_its_pod_and_when_it_was_learnt(found: dict[str, Any]) -> None:
    """The broker's log knows the member only by its id; the request log knows whose that is."""
    (eviction,) = found["evictions"]
    assert eviction["pod"] == "one"
    assert eviction["at_s"] == pytest.approx(4.5, abs=0.002)
    assert eviction["learnt_s"] == pytest.approx(5 + 3.48, abs=0.1)


def test_heartbeats_are_counted_by_pod_and_answer(found: dict[str, Any]) -> None:
    """Refused ones are no sign of life that a client counts as success."""
    counts = {pod: (item["accepted_heartbeats"], item["refused_heartbeats"]) for pod, item in found["pods"].items()}
    assert counts == {"one": (2, {25: 1, 27: 1}), "two": (4, {27: 2})}
    assert found["accepted_heartbeats"] == 6


def test_who_leaves_without_being_told_has_outlasted_m(found: dict[str, Any]) -> None:
    """A pod that was told to end leaves for another reason."""
    (leave,) = found["poll_gap_leaves"]
    assert (leave["pod"], leave["reason"]) == ("two", "consumer poll timeout has expired.")
    assert _read(two=leave["at_s"] - 1)["poll_gap_leaves"] == []


def test_generations_are_those_that_were_handed_out(found: dict[str, Any]) -> None:
    """Each with the pods that got it: one rebalance is one event, however many members took part."""
    assert [(rebalance["generation"], rebalance["pods"]) for rebalance in found["rebalances"]] == [
        (5, ["two"]),
        (6, ["one", "two"]),
        (9, ["one"]),
    ]
    assert [join["generation"] for join in found["pods"]["one"]["joins"]] == [6, 9]


def test_a_request_of_another_group_or_before_the_window_does_not_count() -> None:
    """Stories of one machine have brokers of their own, but warm-up is before the window."""
    args: dict[str, Any] = {"pods": PODS, "told_to_end_s": {}, "ended_s": ENDED_S}
    assert truth.read(LINES, [], group="other", began_s=BEGAN_S, **args).document["accepted_heartbeats"] == 0
    later = truth.read(LINES, [], group=GROUP, began_s=BEGAN_S + 20, **args)
    assert later.document["accepted_heartbeats"] == 1
    assert later.document["poll_gap_leaves"]


def test_a_client_that_cannot_bind_its_sockets_is_found_by_its_client_id() -> None:
    """All its pods come from one address then."""
    renamed = [line.replace('"clientId":"consumer-jmx-1-default-group-1"', '"clientId":"one"') for line in LINES]
    args: dict[str, Any] = {"told_to_end_s": {}, "began_s": BEGAN_S, "ended_s": ENDED_S}
    found = truth.read(renamed, [], group=GROUP, pods={"127.0.0.9": "one"}, **args).document
    assert found["pods"]["one"]["accepted_heartbeats"] == 6


def test_a_member_that_keeps_its_id_learns_each_eviction_anew() -> None:
    """A member of KIP-848 comes back under the same id: what it learnt before an eviction was another one."""
    broker_log = [*_broker_log(BEGAN_S + 4.5), *_broker_log(BEGAN_S + 50)]
    args: dict[str, Any] = {"pods": PODS, "told_to_end_s": {}, "began_s": BEGAN_S, "ended_s": ENDED_S}
    first, second = truth.read(LINES, broker_log, group=GROUP, **args).document["evictions"]
    assert first["learnt_s"] is not None
    assert second["learnt_s"] is None
