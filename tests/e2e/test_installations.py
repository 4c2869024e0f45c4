"""Two installations of the operator before one API server: one owns a namespace, whatever becomes of either."""

import json
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest
import yaml

from sandbox.environment import OPERATOR_USERS, Sandbox
from sandbox.processes import wait_until
from sandbox.scenario import LEASE_NAMESPACE, Operator
from tests.e2e.conftest import NewTeam
from tests.e2e.operators import Operators, await_cycles, await_no_policies
from tests.e2e.replicas import SHORT, await_leader, edit
from tests.e2e.teams import Team

pytestmark = pytest.mark.timeout(300)

INTERVAL_S: Final = 0.5
FIRST: Final = f"{LEASE_NAMESPACE}/heartbeat-tuner"

Start = Callable[..., Operator]
"""Starts the installation whose lease is in a namespace; the user of the sandbox follows from it."""


@pytest.fixture
def home(new_team: NewTeam) -> str:
    """The namespace of the second installation's lease, where its user may hold it."""
    team = new_team("second-home")
    metadata = {"name": "heartbeat-tuner", "namespace": team.namespace}
    rule = {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get", "update", "create"]}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "heartbeat-tuner"}
    rbac = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": metadata}
    role = {**rbac, "kind": "Role", "rules": [rule]}
    subjects = [{"kind": "User", "name": user} for user in OPERATOR_USERS]
    team.apply(yaml.safe_dump_all([role, {**rbac, "kind": "RoleBinding", "roleRef": reference, "subjects": subjects}]))
    return team.namespace


@pytest.fixture
def start(sandbox: Sandbox, operators: Operators) -> Iterator[Start]:
    """Starts operators; all are ended after the test."""
    operators.stop()
    running: list[Operator] = []

    def started(lease_namespace: str = LEASE_NAMESPACE, **options: Any) -> Operator:
        user = OPERATOR_USERS[lease_namespace != LEASE_NAMESPACE]
        operator = Operator(
            sandbox, interval_s=INTERVAL_S, user=user, lease_times=SHORT, lease_namespace=lease_namespace, **options
        )
        running.append(operator.__enter__())
        await_leader(operator)
        return operator

    yield started
    for item in running:
        item.process.stop()
    sandbox.control_plane.kubectl("delete", "lease", "--all", f"--namespace={LEASE_NAMESPACE}")


@pytest.fixture
def team(new_team: NewTeam, sandbox: Sandbox) -> Team:
    """A team with a policy whose workload does not exist: it has a status all the same."""
    await_no_policies(sandbox)  # they would be counted, too
    made = new_team("shared")
    made.apply_policy_spec()
    return made


def owner(team: Team) -> str:
    """Return which installation wrote the status; empty while none has."""
    return str(team.status().get("installation", {}).get("name", ""))


def await_owner(team: Team, name: str, *, timeout_s: float = 30) -> None:
    """Wait until an installation has written the status."""
    wait_until(
        lambda: owner(team) == name, part=team.name, what=f"{name} as the owner", timeout_s=timeout_s, poll_s=0.2
    )


def left(operator: Operator, why: str) -> int:
    """Return how many namespaces an operator leaves to others."""
    found = re.search(
        rf'^heartbeat_tuner_namespaces_left\{{why="{why}"\}} (\S+)$', operator.page("/metrics"), re.MULTILINE
    )
    return int(float(found[1])) if found else 0


def events(team: Team) -> list[tuple[str, str]]:
    """Return type and message of the Events that say who owns the namespace."""
    return [(kind, message) for kind, reason, message in team.events() if reason == "NamespaceOwned"]


def age(sandbox: Sandbox, by: timedelta) -> None:
    """Have the first installation's lease look as if nobody had renewed it for a while."""
    renewed = f"{datetime.now(UTC) - by:%Y-%m-%dT%H:%M:%S.%fZ}"
    patch = json.dumps({"spec": {"renewTime": renewed}})
    command = ("patch", "lease", "heartbeat-tuner", f"--namespace={LEASE_NAMESPACE}", f"--patch={patch}")
    sandbox.control_plane.kubectl(*command)


def test_the_second_stands_back_until_the_first_is_gone_for_good(
    start: Start, home: str, team: Team, sandbox: Sandbox
) -> None:
    """A restart, an upgrade or a new leader of the first changes nothing; its uninstallation does."""
    first = start()
    await_owner(team, FIRST)
    second = start(home)
    await_cycles(second, 3)
    assert (owner(team), left(second, "First"), left(first, "First")) == (FIRST, 1, 0)
    ((kind, message),) = events(team)
    assert kind == "Warning"
    assert message.startswith(f"Installation {FIRST} looks after namespace {team.name}; {home}/heartbeat-tuner writes")
    edit(team, 1)
    await_cycles(second, 3)
    await_owner(team, FIRST)

    first.process.stop()
    age(sandbox, timedelta(minutes=4))
    await_cycles(second, 3)
    assert owner(team) == FIRST
    first = start()
    await_cycles(first, 2)
    assert (owner(team), left(second, "First")) == (FIRST, 1)

    first.process.stop()
    age(sandbox, timedelta(minutes=6))
    await_owner(team, f"{home}/heartbeat-tuner")
    wait_until(lambda: left(second, "First") == 0, part="second", what="nothing that is left")
    back = start()
    await_cycles(back, 3)
    assert (owner(team), left(back, "First")) == (f"{home}/heartbeat-tuner", 1)


def test_who_names_a_namespace_owns_it_and_gives_it_back(start: Start, home: str, team: Team) -> None:
    """So a person says on purpose whose it is; the one that watches all says that nothing is wrong."""
    first = start()
    await_owner(team, FIRST)
    second = start(home, namespaces=[team.namespace])
    await_owner(team, f"{home}/heartbeat-tuner")
    wait_until(lambda: left(first, "Named") == 1, part="first", what="a namespace that is left on purpose")
    await_cycles(first, 3)
    assert (owner(team), left(second, "First"), left(first, "First")) == (f"{home}/heartbeat-tuner", 0, 0)
    assert [kind for kind, _ in events(team)] == ["Normal"]

    second.process.stop()
    start(home, namespaces=[home])  # it names another one now
    await_owner(team, FIRST)


def test_an_installation_with_a_new_name_takes_over_when_the_old_lease_is_deleted(
    start: Start, home: str, team: Team, sandbox: Sandbox
) -> None:
    """A release that is renamed waits until its old lease has run out, or until a person deletes it."""
    first = start()
    await_owner(team, FIRST)
    first.process.stop()
    second = start(home)
    await_cycles(second, 2)
    assert owner(team) == FIRST
    sandbox.control_plane.kubectl("delete", "lease", "heartbeat-tuner", f"--namespace={LEASE_NAMESPACE}")
    await_owner(team, f"{home}/heartbeat-tuner")
