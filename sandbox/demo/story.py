"""The phases of the demo, in order, each timed: boot, storm, explain, cure, quiet."""

import contextlib
import dataclasses
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from sandbox import scenario
from sandbox.demo import telling
from sandbox.demo.measuring import GroupWatch, Measured
from sandbox.environment import Sandbox
from sandbox.errors import SandboxError
from sandbox.processes import wait_until
from sandbox.producer import Trickle
from sandbox.scenario import LEASE_NAMESPACE, Operator, Tenant

NAMESPACE: Final = "shop"
GROUP: Final = "orders"
STORM_S: Final = 35.0
QUIET_S: Final = 62.0
TELL_EVERY_S: Final = 5.0
MESSAGE_EVERY_S: Final = 8.0
"""Rarer than the fetch wait, so that the pods' idle rhythm shows between messages."""

INTERVAL_S: Final = 3.0
"""The operator's cycle; 60 s in production."""

SETTLING_S: Final = 3.0
"""After the rollout, for the last planned rebalance to end."""


@dataclasses.dataclass
class Story:
    """What the demo has found so far."""

    seconds: dict[str, float] = dataclasses.field(default_factory=dict)
    before: Measured | None = None
    after: Measured | None = None
    policy_at_storm: dict[str, Any] = dataclasses.field(default_factory=dict)
    policy_at_end: dict[str, Any] = dataclasses.field(default_factory=dict)
    storm_began_s: float = 0.0
    """In Unix seconds."""

    @contextlib.contextmanager
    def phase(self, name: str, title: str) -> Iterator[None]:
        """Announce a phase and keep its length."""
        telling.heading(title)
        began = time.monotonic()
        yield
        self.seconds[name] = round(time.monotonic() - began, 1)


def run(run_dir: Path, *, keep: Callable[[Sandbox, Story], None]) -> Story:
    """Run the whole demo; `keep` is called before the parts are stopped.

    Raises:
        SandboxError: a part failed, or the story did not come to its good end.
    """
    story, began = Story(), time.monotonic()
    with contextlib.ExitStack() as parts:
        with story.phase("boot", "Starting real parts: Kubernetes API, node, Kafka broker, Prometheus"):
            sandbox = parts.enter_context(Sandbox(run_dir))
            scenario.install(sandbox)
            tenant = Tenant(sandbox, NAMESPACE)
            tenant.create()
        with story.phase("consumers", "Deploying three KafkaJS pods: session 1s, heartbeat 333ms, fetch wait 5s"):
            tenant.deploy_consumers(GROUP, scenario.STORMING)
            tenant.await_available(GROUP)
        watch = GroupWatch(sandbox.kafka.request_log, GROUP)
        parts.enter_context(Trickle(sandbox.kafka.bootstrap, GROUP, every_s=MESSAGE_EVERY_S))
        operator = parts.enter_context(Operator(sandbox, interval_s=INTERVAL_S))
        sandbox.prometheus.scrape_too("operator", operator.metrics_port, namespace=LEASE_NAMESPACE)
        _storm(story, tenant, watch)
        _cure(story, tenant)
        _quiet(story, tenant, watch)
        story.seconds["total"] = round(time.monotonic() - began, 1)
        keep(sandbox, story)
    return story


def _storm(story: Story, tenant: Tenant, watch: GroupWatch) -> None:
    with story.phase("storm", "The storm; the operator watches (mode Recommend)"):
        began_s = story.storm_began_s = time.time()
        tenant.apply_policy(GROUP, mode="Recommend")
        recommended = False
        while time.time() - began_s < STORM_S:
            time.sleep(TELL_EVERY_S)
            telling.moment(watch.measure(began_s))
            policy = tenant.policy(GROUP)
            if not recommended and scenario.condition(policy, "Recommended")["status"] == "True":
                telling.decision(policy)
                recommended = True
        story.before = watch.measure(began_s)
        story.policy_at_storm = tenant.policy(GROUP)
    if not recommended:
        raise SandboxError(
            f"The operator recommended nothing in {STORM_S:.0f} s; see operator-a.log in the logs folder."
        )


def _cure(story: Story, tenant: Tenant) -> None:
    with story.phase("cure", "Setting mode: Apply"):
        tenant.patch("cgp", GROUP, {"spec": {"mode": "Apply"}})
        wait_until(
            lambda: "applied" in tenant.policy(GROUP).get("status", {}),
            part="operator",
            what="the patch of the Deployment",
        )
        telling.patched(tenant.get("deployments", GROUP))
        tenant.await_available(GROUP)
        telling.say("all pods run with the new values")
        time.sleep(SETTLING_S)


def _quiet(story: Story, tenant: Tenant, watch: GroupWatch) -> None:
    with story.phase("quiet", "Quiet?"):
        began_s = time.time()
        while time.time() - began_s < QUIET_S:
            time.sleep(TELL_EVERY_S)
            telling.moment(watch.measure(began_s))
        wait_until(
            lambda: tenant.policy(GROUP).get("status", {}).get("verdict") == "Unproven",
            part="operator",
            what="its verdict that nothing more is to be changed",
            timeout_s=60,
        )
        story.after = watch.measure(began_s)
        story.policy_at_end = tenant.policy(GROUP)
