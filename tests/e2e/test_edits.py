"""An edited policy, and how soon its status follows."""

from typing import Final

import pytest

from sandbox.environment import Sandbox
from sandbox.scenario import Operator
from tests.e2e.conftest import NewTeam
from tests.e2e.operators import Operators
from tests.e2e.replicas import await_status, edit

INTERVAL_S: Final = 600.0


@pytest.mark.timeout(240)
def test_an_edit_does_not_wait_for_the_interval(sandbox: Sandbox, operators: Operators, new_team: NewTeam) -> None:
    """Who edits a policy looks at its status next; a cycle every ten minutes would be a long wait."""
    operators.stop()
    team = new_team("edited")
    team.apply_policy_spec()
    with Operator(sandbox, interval_s=INTERVAL_S):
        await_status(team, timeout_s=90)
        edit(team, 0)
        await_status(team, timeout_s=90)
