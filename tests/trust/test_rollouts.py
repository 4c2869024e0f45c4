"""Rollouts that die, get stuck, stop all pods at once or are not wanted: what the status says, and who goes on.

One fleet of cheap pods lives through all of it, since most of it is waiting: a storm has to be seen for a minute, and
pods have to stay ready for one.
"""

import dataclasses
import json
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any, Final

import pytest
import yaml

from heartbeat_tuner.api.applied import ANNOTATION
from sandbox import scenario
from sandbox.environment import Sandbox
from sandbox.network import LOOPBACK
from sandbox.scenario import Operator
from tests.e2e.operators import Operators
from tests.support import written
from tests.support.fleets import Fleet, PodMetrics, Scrapes, commit_offsets, deployment

pytestmark = pytest.mark.timeout(450)

INTERVAL_S: Final = 0.5
PLACES: Final = 2
DEADLINE_S: Final = 12
"""Of stuck rollouts, once somebody has waited for their places: a busy machine sees one storm long before another."""

STAYS_S: Final = 55.0
"""A minute, less what lies between two looks of the test."""

LAG_S: Final = 20.0
"""A status is as old as the last cycle, which takes its time on a busy machine."""

SCRAPES: Final = Scrapes(every_s=0.5, reach_s=120.0, from_start=True)
NAMES: Final = (
    "crashes",
    "hangs",
    "waits",
    "crashes-later",
    "scaled",
    "renamed",
    "taken-out",
    "paused",
    "suspended",
    "recreated",
    "value-from",
)
STUCK: Final = ("crashes", "hangs")
FAILING: Final = (*STUCK, "crashes-later")
"""A person takes back what fails: the policies ask for that."""

ON_DELETE: Final = "on-delete"
"""A StatefulSet whose pods get a new template when somebody deletes them; by its name the first to be written."""

OF_OURS: Final = ("crashes-later", "scaled", "renamed", "taken-out")
"""Have values of the tuner's from the beginning."""


@dataclasses.dataclass(frozen=True)
class Moment:
    """What one look at a policy and its pods showed.

    Attributes:
        name: of the policy.
        seconds: since the story began.
        conditions: by type: status, reason and message.
        ready_s: how long each pod with the cure has been ready.
        written: whether the Deployment bears a record of the tuner's.
    """

    name: str
    seconds: float
    conditions: dict[str, tuple[str, str, str]]
    ready_s: tuple[float, ...]
    written: bool

    @property
    def applied(self) -> tuple[str, str, str]:
        """What is said of the values."""
        return self.conditions.get("Applied", ("", "", ""))


class Story:
    """All moments of a fleet."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self.moments: list[Moment] = []
        self._began_s = time.monotonic()
        self._names = dict(zip(NAMES, fleet.names, strict=True)) | {ON_DELETE: ON_DELETE}
        self.on_delete_uids: list[str] = []

    def name(self, short: str) -> str:
        """Return what a Deployment is called."""
        return self._names[short]

    def of(self, short: str) -> list[Moment]:
        """Return the moments of one policy."""
        return [moment for moment in self.moments if moment.name == short]

    def reasons(self, short: str) -> list[tuple[str, str]]:
        """Return status and reason of `Applied`, one after the other."""
        found: list[tuple[str, str]] = []
        for item in self.of(short):
            if item.applied[0] and (not found or found[-1] != item.applied[:2]):
                found.append(item.applied[:2])
        return found

    def until(self, done: Callable[[], bool], what: str, *, timeout_s: float) -> None:
        """Look at all of it again and again until something is so."""
        end_s = time.monotonic() + timeout_s
        while True:
            self._look()
            if done():
                return
            if time.monotonic() > end_s:
                seen = "\n".join(f"{name}: {self.of(name)[-1].applied}" for name in self._names)
                raise AssertionError(f"{what} did not come within {timeout_s:g} s:\n{seen}")
            time.sleep(0.5)

    def shows(self, short: str, reason: str) -> bool:
        """Whether a policy's `Applied` has a reason now."""
        return self.of(short)[-1].applied[1] == reason

    def _look(self) -> None:
        now, pods = datetime.now(UTC), self.fleet.pods()
        policies, workloads = self.fleet.policies(), self.fleet.deployments() | self.fleet.stateful_sets()
        for short, name in self._names.items():
            conditions = policies[name].get("status", {}).get("conditions", ())
            self.moments.append(
                Moment(
                    short,
                    time.monotonic() - self._began_s,
                    {
                        condition["type"]: (condition["status"], condition["reason"], condition["message"])
                        for condition in conditions
                    },
                    tuple(sorted(_ready_s(pod, now) for pod in pods if _is_cured(pod, name))),
                    ANNOTATION in workloads[name]["metadata"].get("annotations", {}),
                )
            )


def _is_cured(pod: dict[str, Any], name: str) -> bool:
    env = {item["name"]: item.get("value") for item in pod["spec"]["containers"][0].get("env", ())}
    return pod["metadata"]["labels"]["app"] == name and written.CURE.items() <= env.items()


def _ready_s(pod: dict[str, Any], now: datetime) -> float:
    for condition in pod.get("status", {}).get("conditions", ()):
        if (condition["type"], condition["status"]) == ("Ready", "True"):
            return (now - datetime.fromisoformat(condition["lastTransitionTime"])).total_seconds()
    return 0.0


def _create_on_delete(fleet: Fleet) -> None:
    """Make the StatefulSet, its group and its policy."""
    commit_offsets(fleet.sandbox.kafka.bootstrap, fleet.namespace, [ON_DELETE])
    document = deployment(fleet.namespace, ON_DELETE)
    document["kind"] = "StatefulSet"
    document["spec"] |= {"serviceName": ON_DELETE, "updateStrategy": {"type": "OnDelete"}}
    fleet.apply(json.dumps(document))
    policy = yaml.safe_load(scenario.policy_manifest(ON_DELETE, mode="Apply"))
    policy["spec"]["workloadRef"]["kind"] = "StatefulSet"
    fleet.apply(json.dumps(policy))


def _on_delete_uids(fleet: Fleet) -> list[str]:
    return [pod["metadata"]["uid"] for pod in fleet.pods() if pod["metadata"]["labels"]["app"] == ON_DELETE]


def _prepare(fleet: Fleet, names: Callable[[str], str]) -> None:
    """Make each Deployment what its name says, before anybody writes to it."""
    # Without a probe its pod is ready until a node has seen that it ended, and so the rollout over: a second, at times.
    probe = {"exec": {"command": ["sh", "-c", '[ "$KAFKA_SESSION_TIMEOUT_MS" != 30000 ]']}, "periodSeconds": 1}
    crashes = written.container(fleet, "[ $CURED = 1 ] && exit 7; exec sleep infinity", readinessProbe=probe)
    later = written.container(fleet, "[ $CURED = 1 ] && { sleep 12; exit 7; }; exec sleep infinity")
    hangs = written.container(fleet, "exec sleep infinity", readinessProbe=probe)
    from_key = {"configMapKeyRef": {"name": fleet.namespace, "key": "KAFKA_SESSION_TIMEOUT_MS"}}
    value_from = written.container(
        fleet, "exec sleep infinity", env=[{"name": "KAFKA_SESSION_TIMEOUT_MS", "valueFrom": from_key}]
    )
    fleet.change(names("crashes"), crashes)
    fleet.change(names("hangs"), hangs)
    fleet.change(names("crashes-later"), later)
    fleet.change(names("value-from"), value_from)
    fleet.change(names("paused"), {"paused": True})
    fleet.change(names("recreated"), {"strategy": {"type": "Recreate", "rollingUpdate": None}})


@pytest.fixture(scope="module")
def story(sandbox: Sandbox, operators: Operators) -> Iterator[Story]:
    """All that happens to the fleet; no other operator runs meanwhile."""
    operators.stop()
    # Policies that another story left would make the namespace share the places.
    sandbox.control_plane.kubectl("delete", "consumergrouppolicies", "--all", "--all-namespaces", "--timeout=30s")
    with Fleet(sandbox, "rollouts", len(NAMES)) as fleet:
        fleet.deploy(scenario.STORMING)
        report = Story(fleet)
        _prepare(fleet, report.name)
        fleet.await_rolled_out()
        fleet.create_policies(mode="Apply")
        _create_on_delete(fleet)
        for short in OF_OURS:
            written.write(fleet, report.name(short))
        for short in FAILING:
            mine = {"spec": {"rollout": {"verification": {"revert": False}}}}
            fleet.admin.merge(fleet.path("policies", report.name(short)), mine)
        fleet.admin.merge(fleet.path("policies", report.name("suspended")), {"spec": {"suspend": True}})
        fleet.admin.merge(fleet.path("policies", report.name("recreated")), {"spec": {"mode": "Recommend"}})
        with PodMetrics(
            [fleet], storms=lambda env: env.get("KAFKA_SESSION_TIMEOUT_MS") != "30000", scrapes=SCRAPES
        ) as metrics:
            url = f"http://{LOOPBACK}:{metrics.port}"
            with Operator(
                sandbox,
                interval_s=INTERVAL_S,
                prometheus_url=url,
                max_rollouts=PLACES,
                grants=scenario.EVERY_GROUP,  # nobody consumes
            ):
                _play(report)
        yield report
        fleet.kubectl("delete", "namespace", fleet.namespace, "--wait=false")


def _play(story: Story) -> None:
    fleet = story.fleet
    story.until(lambda: story.shows("suspended", "Suspended"), "the suspension", timeout_s=60)
    story.until(lambda: _waits_for_both(story), "somebody who waits for the stuck rollouts' places", timeout_s=120)
    for short in STUCK:
        fleet.change(story.name(short), {"progressDeadlineSeconds": DEADLINE_S})
    story.until(lambda: story.shows(ON_DELETE, "AtNextRestart"), "values for pods that somebody deletes", timeout_s=60)
    story.on_delete_uids = _on_delete_uids(fleet)
    landed = ("scaled", "renamed", "taken-out")
    story.until(lambda: all(story.shows(item, "Applied") for item in landed), "three that stay up", timeout_s=120)
    fleet.change(story.name("scaled"), {"replicas": 0})
    renamed = written.container(fleet, "exec sleep infinity", name="main")
    fleet.change(story.name("renamed"), renamed)
    fleet.pause(story.name("taken-out"), paused=True)
    env = [{"name": name, "$patch": "delete"} for name in written.CURE]
    fleet.kubectl(
        *("patch", "deployment", story.name("taken-out"), f"--namespace={fleet.namespace}", "--type=strategic", "-p"),
        str({"spec": {"template": {"spec": {"containers": [{"name": "app", "env": env}]}}}}).replace("'", '"'),
    )
    story.until(lambda: all(story.shows(item, "RolloutFailed") for item in STUCK), "two dead rollouts", timeout_s=150)
    story.until(lambda: story.of("waits")[-1].written, "the turn of who waits", timeout_s=90)
    story.on_delete_uids += _on_delete_uids(fleet)
    fleet.kubectl("delete", "pod", f"{ON_DELETE}-0", f"--namespace={fleet.namespace}", "--wait=false")
    story.until(lambda: story.shows("scaled", "ScaledToZero"), "no pods", timeout_s=90)
    story.until(lambda: story.of("renamed")[-1].applied[0] == "Unknown", "no such container", timeout_s=90)
    story.until(lambda: story.shows("taken-out", "TakenBack"), "values taken out", timeout_s=90)
    story.until(lambda: story.shows("crashes-later", "RolloutFailed"), "a crash loop", timeout_s=90)
    story.until(lambda: story.shows(ON_DELETE, "Applied"), "a deleted pod with the values", timeout_s=120)


def _waits_for_both(story: Story) -> bool:
    """Whether the policy that waits says so, and who has the places."""
    _, reason, message = story.of("waits")[-1].applied
    stuck = [f"Deployment {story.fleet.namespace}/{story.name(short)}" for short in STUCK]
    return reason == "FleetBudgetSpent" and all(item in message for item in stuck)


@pytest.mark.row("A4")
def test_applied_is_true_only_of_pods_that_stayed_ready(story: Story) -> None:
    """In no moment of the whole story is it said of others."""
    true = [moment for moment in story.moments if moment.applied[0] == "True"]
    # Whoever waited for a place may have had one for long enough by the end.
    assert (
        {"scaled", "renamed", "taken-out", ON_DELETE}
        <= {item.name for item in true}
        <= {"scaled", "renamed", "taken-out", ON_DELETE, "waits"}
    )
    for item in true:
        shortly = [other for other in story.of(item.name) if 0 <= item.seconds - other.seconds <= LAG_S]
        assert max(age_s for other in shortly for age_s in (0.0, *other.ready_s)) >= STAYS_S, item


@pytest.mark.row("A4")
@pytest.mark.parametrize("short", FAILING)
def test_a_dead_rollout_is_said_to_have_failed(story: Story, short: str) -> None:
    """With the pod and the reason, and nothing is said to be applied; the values stay, as the policy asks."""
    assert story.reasons(short)[-2:] == [("False", "RollingOut"), ("False", "RolloutFailed")]
    message = story.of(short)[-1].applied[2]
    if short != "hangs":  # whose container runs
        assert f"pod {story.name(short)}-" in message
        assert "with exit code 7" in message or "ended with code 7" in message


@pytest.mark.row("A4")
def test_pods_that_are_gone_or_renamed_have_no_values(story: Story) -> None:
    """Scaled to 0, container renamed, values taken out of the template."""
    for short, reason in (("scaled", "ScaledToZero"), ("taken-out", "TakenBack")):
        reasons = story.reasons(short)
        assert ("True", "Applied") in reasons
        assert reasons[-1] == ("False", reason)
    last = story.of("renamed")[-1].conditions
    assert last["Ready"][:2] == ("False", "ContainerNotFound")
    assert {item[:2] for kind, item in last.items() if kind != "Ready"} == {("Unknown", "ContainerNotFound")}


@pytest.mark.row("A5")
def test_stuck_rollouts_lose_their_places_at_their_deadline(story: Story) -> None:
    """Until then the story has who waits say who has them; after it somebody else begins, and they stay stuck."""
    assert story.of("waits")[-1].written
    begun_s = next(item.seconds for item in story.of("waits") if item.written)
    for short in STUCK:
        later = [item for item in story.of(short) if item.seconds >= begun_s]
        assert not any(item.applied[0] == "True" for item in later), later[-1].applied


@pytest.mark.row("A5")
def test_what_waits_for_somebody_to_delete_pods_holds_no_place(story: Story) -> None:
    """It is written first, restarts nobody and keeps nobody waiting; the pod that somebody deletes gets the values."""
    reasons = story.reasons(ON_DELETE)
    assert ("False", "AtNextRestart") in reasons
    assert reasons[-1] == ("True", "Applied")
    assert len(story.on_delete_uids) == 2
    assert len(set(story.on_delete_uids)) == 1
    held = [moment for moment in story.moments if moment.applied[1] == "FleetBudgetSpent"]
    assert not any("StatefulSet" in item.applied[2] for item in held)
    written_s = next(item.seconds for item in story.of(ON_DELETE) if item.written)
    for short in STUCK:
        assert next(item.seconds for item in story.of(short) if item.written) <= written_s + LAG_S


@pytest.mark.row("A5")
def test_a_paused_deployment_is_not_written(story: Story) -> None:
    """And its policy says why."""
    assert not any(item.written for item in story.of("paused"))
    assert story.reasons("paused")[-1] == ("False", "RolloutPaused")
    assert "paused (spec.paused): nothing is written" in story.of("paused")[-1].applied[2]


@pytest.mark.row("A8")
def test_a_strategy_that_stops_all_pods_is_told_before(story: Story) -> None:
    """In the recommendation, while nothing is written yet."""
    status, _, message = story.of("recreated")[-1].conditions["Recommended"]
    assert status == "True"
    assert "has the strategy Recreate: a rollout stops all of its pods at once" in message


@pytest.mark.row("A8")
def test_the_remedy_names_what_stands_in_the_manifest(story: Story) -> None:
    """An entry with a `valueFrom` is named with it."""
    _, reason, message = story.of("value-from")[-1].applied
    assert reason == "FieldOwned"
    source = f"{{name: {story.fleet.namespace}, key: KAFKA_SESSION_TIMEOUT_MS}}"
    assert f"{{name: KAFKA_SESSION_TIMEOUT_MS, valueFrom: {{configMapKeyRef: {source}}}}}" in message


@pytest.mark.row("A8")
def test_a_suspension_is_seen(story: Story) -> None:
    """In the condition from the first look on, with what would be said else, and in a wide column of its own."""
    assert set(story.reasons("suspended")) == {("False", "Suspended")}
    assert story.of("suspended")[-1].applied[2].startswith("spec.suspend is true: nothing is written")
    shown = story.fleet.kubectl("get", "cgp", story.name("suspended"), "-owide", f"--namespace={story.fleet.namespace}")
    header, line = shown.splitlines()
    assert line[header.index("SUSPENDED") :].split()[0] == "true"
