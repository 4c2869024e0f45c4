"""An edited policy, and how soon its status follows."""

from typing import Final

import pytest

from bench.cycle import percentile
from sandbox.environment import Sandbox
from sandbox.scenario import Operator
from tests.e2e.conftest import NewTeam
from tests.e2e.operators import Operators, cycles
from tests.e2e.reactions import Reactions
from tests.e2e.replicas import await_status
from tests.e2e.teams import Team

INTERVAL_S: Final = 60.0
"""The operator's default."""

EDITS: Final = 20

SOON_S: Final = 3.0
"""What people wait for without asking themselves whether anything happens; `make bench-react` measures it closely."""


@pytest.mark.timeout(300)
def test_a_status_follows_its_edit_at_once(
    sandbox: Sandbox, operators: Operators, healthy: Team, new_team: NewTeam
) -> None:
    """Edit after edit, of a group that is really there; cycles come as seldom as ever."""
    operators.stop()
    healthy.apply_policy_spec(mode="Recommend")
    new_team("bystander").apply_policy_spec()
    try:
        with Operator(sandbox, interval_s=INTERVAL_S) as operator:
            await_status(healthy, timeout_s=90)
            before = cycles(operator)
            waits_s = list(Reactions(healthy).after_edits(EDITS, timeout_s=90))
            passed = cycles(operator) - before
    finally:
        healthy.delete_policy()
    assert percentile(waits_s, 0.95) <= SOON_S, waits_s
    assert passed <= 1 + sum(waits_s) / INTERVAL_S + 1
