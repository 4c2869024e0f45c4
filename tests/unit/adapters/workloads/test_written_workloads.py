"""What was just written is in the view, though a watch is silent: else somebody would seem to have taken it back."""

import dataclasses
from datetime import timedelta
from typing import Any, cast

from heartbeat_tuner.adapters.kubernetes import api_paths
from heartbeat_tuner.adapters.kubernetes.kubernetes_api import FIELD_MANAGER, KubernetesApi
from heartbeat_tuner.adapters.workloads.live_workloads import LiveWorkloads
from heartbeat_tuner.adapters.workloads.workload_objects import KubernetesWorkloads
from heartbeat_tuner.decision.gates import taken_back
from heartbeat_tuner.domain.evidence import Workload
from heartbeat_tuner.domain.policies import Application
from tests.support import worlds
from tests.support.slots import FakeClock
from tests.support.watched_cluster import Document, WatchedCluster

DEPLOYMENTS = api_paths.collection(api_paths.DEPLOYMENTS)
SESSION = next(iter(worlds.policy().env_names.values()))
CURED = worlds.settings("30s", "1s", "1s")


class DeadWatch(WatchedCluster):
    """A cluster whose watches are open and bring nothing any more, as where an API server's node is gone."""

    async def write(self, _method: str, path: str, document: dict[str, Any], **_query: str) -> Document:
        """Store what an apply says of a Deployment, and show it to nobody."""
        key = next(key for key in self._stored if path == f"{api_paths.in_namespace(key[0], key[1])}/{key[2]}")
        self._version += 1
        before = self._stored[key]
        owned: Document = {"f:env": {f'k:{{"name":"{SESSION}"}}': {".": {}, "f:value": {}}}}
        fields = {"f:spec": {"f:template": {"f:spec": {"f:containers": {'k:{"name":"app"}': owned}}}}}
        manager = {"manager": FIELD_MANAGER, "operation": "Apply", "fieldsV1": fields}
        metadata = {**before["metadata"], **document["metadata"], "managedFields": [manager]}
        metadata |= {"resourceVersion": str(self._version), "generation": 2}
        spec = {**before["spec"], "template": document["spec"]["template"]}
        self._stored[key] = {"kind": "Deployment", **before, "metadata": metadata, "spec": spec}
        return self._stored[key]


async def test_what_was_written_is_not_taken_for_taken_back_while_a_watch_is_silent() -> None:
    """It may be dead for a minute and a half before anybody notices, and the next cycle comes sooner."""
    cluster, policy = DeadWatch(), worlds.policy()
    container = {"name": "app", "env": []}
    spec = {"replicas": 1, "selector": {}, "template": {"spec": {"containers": [container]}}}
    cluster.put(DEPLOYMENTS, policy.key.namespace, policy.workload.key.name, {"spec": spec})
    live = LiveWorkloads(cluster, FakeClock(), patience=timedelta(seconds=1))
    workloads = KubernetesWorkloads(cast("KubernetesApi", cluster), written=live.show)
    async with live.running():
        await live.cover([policy])
        before = await live.read(policy)
        assert isinstance(before, Workload)
        change = Application(CURED, worlds.STORM, worlds.NOW, before.uid, "app", {SESSION: "30000"}, {})
        await workloads.apply(policy, before, change)
        after = await live.read(policy)
        assert isinstance(after, Workload)
        assert after.holdings is not None
        noted = dataclasses.replace(policy, application=change, observed_generation=1)
        assert taken_back.seen(noted, after.holdings, now=worlds.NOW).taken_back is None
        assert (after.rolling_out, after.our_rollout) == (True, True)
