"""What new pods get from the webhook by the operator's word, and what a policy's status shows of it."""

from collections.abc import Iterator

import pytest

from sandbox import scenario
from sandbox.environment import Sandbox
from sandbox.processes import wait_until
from tests.e2e.conftest import NewTeam
from tests.e2e.static_members import Crew, Kind, crew_of, started_webhook
from tests.e2e.teams import Team
from tests.support.webhooks import Replica

pytestmark = [pytest.mark.timeout(240), pytest.mark.usefixtures("operator")]

CURE = {
    "KAFKA_SESSION_TIMEOUT_MS": "30000",
    "KAFKA_HEARTBEAT_INTERVAL_MS": "1000",
    "KAFKA_MAX_WAIT_TIME_MS": "1000",
}


@pytest.fixture(scope="module")
def webhook(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replica]:
    """The webhook, asked about each new pod."""
    with started_webhook(sandbox, tmp_path_factory.mktemp("webhook")) as replica:
        yield replica


def set_in_pods(team: Team) -> dict[str, dict[str, str]]:
    """Return which of the cure's variables each pod that is not ending sets as the cure says, by its name."""
    found = {}
    for pod in team.get("pods", labels=f"app={team.name}")["items"]:
        env = {item["name"]: item.get("value", "") for item in pod["spec"]["containers"][0]["env"]}
        if "deletionTimestamp" not in pod["metadata"]:
            found[pod["metadata"]["name"]] = {name: env[name] for name in CURE.keys() & env.keys()}
    return found


def test_the_next_restart_brings_the_values_and_the_deployment_stays(new_team: NewTeam, webhook: Replica) -> None:
    """A pod that is replaced starts with what is recommended, the others as they were; the template is untouched."""
    team = new_team("initial")
    team.deploy(scenario.STORMING)
    before, pods = team.get("deployments", team.name), team.pods()
    team.apply_policy(team.name, mode="Initial")
    report = team.await_condition("Applied", "AtNextRestart", status="False", timeout_s=90)
    assert "sessionTimeout 30s" in report["message"]
    values = team.status()["initial"]["values"]
    assert values == {"sessionTimeout": "30s", "heartbeatInterval": "1s", "fetchWait": "1s"}

    def replaced(*names: str) -> dict[str, str]:
        """Delete pods, and return what their successors have."""
        known, set_before = team.pods(), webhook.count("values-set")
        team.kubectl("delete", "pod", *names, f"--namespace={team.namespace}", "--wait=false")
        wait_until(
            lambda: len(team.pods()) == len(known) and not set(names) & set(team.pods()),
            part=team.name,
            what="the successors",
            timeout_s=60,
            poll_s=0.5,
        )
        assert webhook.count("values-set") == set_before + len(names)
        (found,) = {tuple(sorted(env.items())) for name, env in set_in_pods(team).items() if name not in known}
        return dict(found)

    assert replaced(pods[0]) == CURE
    assert [env for name, env in set_in_pods(team).items() if name in pods] == [{}, {}]
    # What was decided stands while the pods differ.
    team.await_condition("Recommended", "RolloutInProgress", status="Unknown", timeout_s=90)
    assert team.status()["initial"]["values"] == values
    assert replaced(*pods[1:]) == CURE
    done = team.await_condition("Applied", "Applied", status="True", timeout_s=150)
    assert "the webhook sets" in done["message"]

    after = team.get("deployments", team.name)
    assert after["spec"] == before["spec"]
    assert after["metadata"]["generation"] == before["metadata"]["generation"]
    assert team.operator_writes("deployments") == []


@pytest.fixture
def crew(sandbox: Sandbox, webhook: Replica) -> Iterator[Crew]:
    """Two Java consumers with static ids, whose protocol the operator has seen."""
    with crew_of(sandbox, Kind(), pods=2, webhook=webhook) as made:
        yield made


def test_the_status_shows_who_has_which_slot_since_when(crew: Crew) -> None:
    """By the pods' names; after a pod was replaced, its successor has the slot, and has it since then."""

    def shown() -> dict[str, tuple[str, str]]:
        """Wait until each pod that is there has a slot in the status; return who has which id, since when."""
        found: dict[str, tuple[str, str]] = {}

        def all_held() -> bool:
            slots = crew.status().get("slots", {"first": []})
            found.clear()
            found.update({item["id"]: (item.get("pod", ""), item["lastTransitionTime"]) for item in slots["first"]})
            return sorted(pod for pod, _ in found.values()) == crew.pods() and slots["held"] == len(found)

        crew._await(all_held, "its slots in the status", 60)
        return found

    before = shown()
    assert sorted(before) == crew.ids()
    (gone, *_) = crew.pods()
    crew.kubectl("delete", "pod", gone, f"--namespace={crew.namespace}")
    crew.await_available(crew.name)
    after = shown()
    ((same, has), *_) = [(name, pod) for name, (pod, _) in before.items() if pod != gone]
    assert (after[same], set(after)) == ((has, before[same][1]), set(before))
    (changed,) = set(before) - {same}
    assert after[changed][0] != gone
    assert after[changed][1] > before[changed][1]
