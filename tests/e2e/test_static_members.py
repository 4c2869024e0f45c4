"""What rolling restarts cost with the webhook's static ids, and without: the quick part of `make static-members`."""

from typing import Final

import pytest

from sandbox.environment import Sandbox
from sandbox.scenario import Operator
from tests.e2e.static_members import SESSION_S, Crew, Kind, counted, crew_of
from tests.support.webhooks import Replica

pytestmark = [pytest.mark.e2e_java, pytest.mark.timeout(400)]

PODS: Final = 3
CONSUMER: Final = Kind("confluent-kafka-python", "consumer")

SETTLING_S: Final = 5.0
"""A group still rebalances when its new pods are all ready: they have joined, but the last change is not yet shared."""

GIVEN_UP_S: Final = SESSION_S + SETTLING_S
"""By then a static member that did not come back has cost its rebalance."""


def cost(crew: Crew, *, surge: int, then_s: float) -> int:
    """Return how many rebalances a rollout costs, with those in so many seconds after it."""
    with counted(crew, then_s=then_s) as costs:
        crew.roll(surge=surge)
    assert crew.shared_ids() == []
    return costs[0].rebalances


@pytest.mark.usefixtures("webhook")
def test_each_pod_of_a_rollout_costs_dynamic_members_a_rebalance(sandbox: Sandbox) -> None:
    """At the least: it leaves, and its successor joins. The webhook is there, and has no policy for them."""
    with crew_of(sandbox, Kind(), pods=PODS, webhook=None) as dynamic:
        assert cost(dynamic, surge=0, then_s=SETTLING_S) >= PODS
        assert dynamic.ids() == [""] * PODS


def test_static_members_keep_their_partitions(sandbox: Sandbox, operator: Operator, webhook: Replica) -> None:
    """Each pod waits for the id of the one before it, and has its partitions at once."""
    assert operator.process.alive()
    with crew_of(sandbox, Kind(), pods=PODS, webhook=webhook) as crew:
        before, promised = crew.group.assignment(), webhook.count("promised")
        assert cost(crew, surge=0, then_s=GIVEN_UP_S) == 0
        assert crew.group.assignment() == before
        assert set(before) == set(crew.ids())
        assert webhook.count("promised") == promised + PODS

        # One rebalance for the id that is added, one for the id that is left over, when its session ends.
        assert cost(crew, surge=1, then_s=GIVEN_UP_S) <= 2
        assert set(crew.group.assignment()) == set(crew.ids())
        assert len(set(crew.ids())) == PODS

        # There may be one id less now, so one is not handed on; the slot that is free by now draws none of the others.
        assert cost(crew, surge=0, then_s=GIVEN_UP_S) <= 1
        assert set(crew.group.assignment()) == set(crew.ids())
        assert len(set(crew.ids())) == PODS
        assert len(crew.lives()) == 4 * PODS
        assert crew.fatal() == []


def test_static_members_keep_their_partitions_under_kip_848(
    sandbox: Sandbox, operator: Operator, webhook: Replica
) -> None:
    """There a successor is refused while its predecessor's session lasts, unless that one has closed."""
    assert operator.process.alive()
    with crew_of(sandbox, CONSUMER, pods=PODS, webhook=webhook) as crew:
        before = crew.group.assignment()
        assert cost(crew, surge=0, then_s=0) == 0
        assert crew.group.assignment() == before
        assert set(before) == set(crew.ids())

        # One for the id that is added, one for the id that is left over; all others are handed on, however soon after
        # the end of a pod was asked for its successor is created.
        assert cost(crew, surge=1, then_s=GIVEN_UP_S) <= 2
        assert set(crew.group.assignment()) == set(crew.ids())

        # Those that have left are members by name until their sessions are over: who comes by then takes their places.
        crew.scale(PODS - 1)
        crew.await_available(crew.name)
        with counted(crew, then_s=0) as costs:
            crew.scale(PODS)
            crew.await_available(crew.name)
        assert costs[0].rebalances == 0

        assert crew.shared_ids() == []
        assert crew.fatal() == []
