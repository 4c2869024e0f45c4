"""Rolling restarts of six pods, with static ids and without: both protocols, Java and confluent-kafka-python."""

import time

import pytest

from sandbox.environment import Sandbox
from sandbox.scenario import Operator
from tests.e2e.static_figures import Figures
from tests.e2e.static_members import DEFAULT_SESSION_S, Cost, Crew, Kind, counted, crew_of
from tests.support.webhooks import Replica

pytestmark = [pytest.mark.static_members, pytest.mark.timeout(900)]

PODS = 6
SETTLING_S = 5.0
"""A group still rebalances when its new pods are all ready: they have joined, but the last change is not yet shared."""

GIVEN_UP_S = DEFAULT_SESSION_S + SETTLING_S
"""By then a static member that did not come back has cost its rebalance."""

KINDS = [
    Kind(library, protocol) for protocol in ("classic", "consumer") for library in ("java", "confluent-kafka-python")
]


def rolled(crew: Crew, figures: Figures, kind: Kind, membership: str, *, surge: int, then_s: float) -> Cost:
    """Return what a rollout costs, and write it down."""
    began = time.monotonic()
    with counted(crew, then_s=then_s) as costs:
        crew.roll(surge=surge)
        took_s = time.monotonic() - began
    figures.add("rollouts", kind, costs[0], membership=membership, max_surge=surge, took_s=round(took_s, 1))
    return costs[0]


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.usefixtures("webhook")
def test_each_pod_of_a_rollout_costs_dynamic_members_a_rebalance(
    sandbox: Sandbox, figures: Figures, kind: Kind
) -> None:
    """At the least. The webhook is there, and has no policy for them."""
    with crew_of(sandbox, kind, pods=PODS, webhook=None, session_s=DEFAULT_SESSION_S) as crew:
        assert rolled(crew, figures, kind, "dynamic", surge=0, then_s=SETTLING_S).rebalances >= PODS
        assert crew.ids() == [""] * PODS


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_static_members_keep_their_partitions(
    sandbox: Sandbox, operator: Operator, webhook: Replica, figures: Figures, kind: Kind
) -> None:
    """None of them costs a rebalance with maxSurge 0; with maxSurge 1 the id that is added and the one left over do."""
    assert operator.process.alive()
    with crew_of(sandbox, kind, pods=PODS, webhook=webhook, session_s=DEFAULT_SESSION_S) as crew:
        before = crew.group.assignment()
        cost = rolled(crew, figures, kind, "static", surge=0, then_s=GIVEN_UP_S)
        after = crew.group.assignment()
        assert (cost.rebalances, after) == (0, before)
        assert set(before) == set(crew.ids())

        assert rolled(crew, figures, kind, "static", surge=1, then_s=GIVEN_UP_S).rebalances <= 2
        assert set(crew.group.assignment()) == set(crew.ids())
        assert len(crew.lives()) == 3 * PODS
        assert crew.shared_ids() == []
        assert crew.fatal() == []
