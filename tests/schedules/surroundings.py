"""All that a schedule disturbs beside the two replicas: sources, the webhook, pods with static ids, models, persons."""

import contextlib
import json
import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, Self
from urllib.parse import urlsplit

from click.testing import CliRunner

from heartbeat_tuner.adapters.kubernetes.model_objects import FIELD_MANAGER
from heartbeat_tuner.api import model_documents
from heartbeat_tuner.api.v1alpha1 import models_v1alpha1
from heartbeat_tuner.api.v1alpha1.fields import API_VERSION
from heartbeat_tuner.cli.kubectl.plugin import plugin
from sandbox import progress, scenario
from sandbox.environment import Sandbox
from sandbox.errors import SandboxError
from sandbox.network import LOOPBACK
from sandbox.processes import wait_until
from sandbox.proxy import FaultProxy
from tests.e2e.static_members import PodWatch, pod_of
from tests.e2e.teams import Team
from tests.schedules.at_once import Deed
from tests.support import fitted, fleets, pod_lives
from tests.support.fleets import Fleet
from tests.support.webhooks import Replica, registered

REVERTED: Final = 0
PAUSED: Final = 1
MODELLED: Final = 2
"""Places in the fleet: whose change a person reverts, who is paused for a while, who has models."""

STATIC_PODS: Final = 4
_HOME: Final = "webhook-home"
_TIMEOUT_S: Final = 90.0
_OLD: Final = timedelta(days=40)
"""A model of then is read, and not decided with: which replica read it when must not matter at the end."""


class StaticPods(Team):
    """A Deployment whose pods sleep and get static ids from the webhook; each life of theirs is watched."""

    def __init__(self, sandbox: Sandbox) -> None:
        super().__init__(sandbox, "static")
        self.watch = PodWatch(self)

    def begin(self, webhook: Replica) -> None:
        """Create everything, and wait until all pods have an id."""
        self.create()
        self.watch.start()
        self.apply_policy_spec(client={"library": "java"}, mode="Recommend", staticMembership="Enabled")
        create = ("create", "--dry-run=server", "--filename=-", f"--namespace={self.namespace}")

        def known() -> bool:
            before = webhook.count("dry-run")
            self.kubectl(*create, stdin=json.dumps(pod_of(self.name)))
            return webhook.count("dry-run") > before

        wait_until(known, part="webhook", what="the policy", timeout_s=_TIMEOUT_S, poll_s=0.5)
        document = fleets.deployment(self.name, self.name)
        document["spec"]["replicas"] = STATIC_PODS
        self.apply(json.dumps(fleets.config_map(self.name, scenario.HEALTHY)) + "\n---\n" + json.dumps(document))
        self.await_available(self.name)

    def take_one_away(self) -> None:
        """Delete one of the pods."""
        pods = self.pods()
        if pods:
            namespace = f"--namespace={self.namespace}"
            self.kubectl("delete", "pod", pods[0], namespace, "--wait=false", "--ignore-not-found")

    def roll(self) -> None:
        """Begin a rollout."""
        self.kubectl("rollout", "restart", f"--namespace={self.namespace}", f"deployment/{self.name}")

    def shared_ids(self) -> list[tuple[str, str, str]]:
        """Return each id that two pods had at one moment, and their names."""
        return pod_lives.shared(self.watch.lives())

    def empty_entries(self) -> list[str]:
        """Return the pods that have an entry of their environment without a value."""
        items = self.get("pods", labels=f"app={self.name}")["items"]
        return [
            item["metadata"]["name"]
            for item in items
            for entry in item["spec"]["containers"][0].get("env", ())
            if not entry.get("value") and "valueFrom" not in entry
        ]


class Surroundings:
    """Everything beside the replicas; a context manager.

    Args:
        sandbox: where it is.
        metrics_port: where metrics are told.
        folder: gets the webhook's files.
    """

    def __init__(self, sandbox: Sandbox, metrics_port: int, folder: Path) -> None:
        self._sandbox = sandbox
        self._folder = folder
        self._prometheus = FaultProxy(LOOPBACK, metrics_port)
        self._broker = FaultProxy(*sandbox.kafka.tap_target, listen_port=sandbox.kafka.tap_port)
        api_port = urlsplit(sandbox.control_plane.url).port
        assert api_port is not None
        self._webhook_wire = FaultProxy(LOOPBACK, api_port)
        self.static = StaticPods(sandbox)
        self._admin = fleets.Admin(sandbox.control_plane)
        self._running = contextlib.ExitStack()
        self._due: list[tuple[Deed, Callable[[], bool]]] = []
        self.prometheus_url = f"http://{LOOPBACK}:{self._prometheus.port}"
        self.bootstrap = f"{LOOPBACK}:{self._broker.port}"

    def __enter__(self) -> Self:
        plane = self._sandbox.control_plane
        with contextlib.ExitStack() as starting:
            for wire in (self._prometheus, self._broker, self._webhook_wire):
                starting.enter_context(wire)
            plane.create_namespace(_HOME)
            self._webhook = Replica(plane, self._folder, _HOME, "webhook", self._webhook_wire.port)
            starting.enter_context(registered(plane, _HOME, self._webhook.port))
            starting.enter_context(self._webhook.process)
            self._webhook.await_ready()
            starting.callback(self._admin.close)
            starting.callback(self.static.watch.stop)
            self.static.begin(self._webhook)
            self._running = starting.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._running.close()

    def disturb(self, deed: Deed, fleet: Fleet) -> None:  # noqa: C901 - a line for each deed
        """Do something; what a person cannot do yet is tried again by `tend`."""
        process = self._webhook.process
        match deed:
            case Deed.PROMETHEUS_CUT:
                self._prometheus.cut()
            case Deed.PROMETHEUS_BACK:
                self._prometheus.heal()
            case Deed.BROKER_CUT:
                self._broker.cut()
            case Deed.BROKER_BACK:
                self._broker.heal()
            case Deed.WEBHOOK_KILL:
                process.kill()
                process.start()
            case Deed.WEBHOOK_STOP:
                process.pause()
            case Deed.WEBHOOK_CONTINUE:
                process.resume()
            case Deed.WEBHOOK_CUT:
                self._webhook_wire.cut()
            case Deed.WEBHOOK_BACK:
                self._webhook_wire.heal()
            case Deed.POD:
                self.static.take_one_away()
            case Deed.ROLL:
                self.static.roll()
            case _:
                self._due.append((deed, lambda: self._by_person(deed, fleet)))
        self.tend()

    def tend(self) -> None:
        """Start the webhook again if it has ended, and let persons try again, each in the order of their deeds."""
        if not self._webhook.process.alive():
            self._webhook.process.start()
        blocked: set[bool] = set()
        for deed, act in list(self._due):
            is_about_pause = deed in {Deed.PAUSE, Deed.RESUME}
            if is_about_pause in blocked:
                continue
            if act():
                self._due.remove((deed, act))
            else:
                blocked.add(is_about_pause)

    def heal(self) -> None:
        """Make everything good again."""
        for wire in (self._prometheus, self._broker, self._webhook_wire):
            wire.heal()
        if self._webhook.process.alive():
            self._webhook.process.resume()
        self.tend()

    def give_up(self) -> None:
        """Let no person try any longer."""
        self._due.clear()

    def is_over(self) -> bool:
        """Whether persons have done what they wanted, and all pods with static ids are there."""
        self.tend()
        if self._due:
            return False
        deployment = self._admin.items(f"/apis/apps/v1/namespaces/{self.static.namespace}/deployments")[0]
        status = deployment.get("status", {})
        return bool(
            status.get("updatedReplicas") == status.get("readyReplicas") == status.get("replicas") == STATIC_PODS
        )

    def _by_person(self, deed: Deed, fleet: Fleet) -> bool:
        """Do what a person or a fit does; return whether it could be done."""
        try:
            match deed:
                case Deed.REVERT:
                    return self._plugin("revert", fleet.names[REVERTED], fleet)
                case Deed.PAUSE:
                    return self._plugin("pause", fleet.names[PAUSED], fleet)
                case Deed.RESUME:
                    return self._plugin("resume", fleet.names[PAUSED], fleet)
                case _:
                    _replace_model(fleet)
                    return True
        except SandboxError as error:
            progress.say(fleet.namespace, f"{deed.value}, not yet: {error}")
            return False

    def _plugin(self, command: str, name: str, fleet: Fleet) -> bool:
        """Run `kubectl heartbeat-tuner` as a person does."""
        plane = self._sandbox.control_plane
        path = os.pathsep.join((str(plane.kubectl_path.parent), os.environ["PATH"]))
        flags = [f"--kubeconfig={plane.kubeconfig}", f"--namespace={fleet.namespace}"]
        result = CliRunner(env={"PATH": path}).invoke(plugin, [command, name, *flags])
        return result.exit_code == 0


def _replace_model(fleet: Fleet) -> None:
    until = (datetime.now(UTC) - _OLD).date()
    model = fitted.model(
        namespace=fleet.namespace,
        group=fleet.names[MODELLED],
        since=until - timedelta(days=13),
        until=until,
        fitted_at=datetime.now(UTC) - _OLD + timedelta(days=1),
        quantities={"absence": fitted.quantity(values=30_000 + int(datetime.now(UTC).timestamp()) % 10_000)},
    )
    document: dict[str, Any] = model_documents.document_of(model)
    path = f"/apis/{API_VERSION}/namespaces/{fleet.namespace}/{models_v1alpha1.PLURAL}"
    fleet.admin.apply(f"{path}/{document['metadata']['name']}", document, manager=FIELD_MANAGER)
