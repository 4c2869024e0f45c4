"""The chart and the images where people use them: installed, at work, upgraded, rolled back and removed.

Collected only when it is named: `test_life_of_a_release.py` runs it where a node may be made.
"""

import json
import time
from collections.abc import Iterator, Mapping
from typing import Any, Final

import pytest

from heartbeat_tuner.api import crd
from heartbeat_tuner.api.v1alpha1 import fields
from sandbox import scenario
from sandbox.demo.measuring import GroupWatch
from sandbox.processes import wait_until
from sandbox.producer import Trickle
from sandbox.scenario import JavaSettings, Tenant
from tests.chart.rendering import NAME
from tests.e2e.group_record import GroupRecord, await_log
from tests.e2e.static_members import pod_of
from tests.e2e.teams import policy_document
from tests.install import members
from tests.install.release import standing
from tests.install.stage import INTERVAL, SHOP, Stage, staged
from tests.support import pod_lives

ORDERS: Final = "orders"
"""The group that storms."""

STOCK: Final = "stock"
"""The group whose pods get static ids."""

STOCK_PODS: Final = 3
STORM_S: Final = 20.0
QUIET_S: Final = 30.0
SETTLING_S: Final = 3.0
MESSAGE_EVERY_S: Final = 8.0
HISTORY_CLAIM: Final = f"{NAME}-history"
_DRY_RUNS: Final = 'heartbeat_tuner_admission_reviews_total{outcome="dry-run"}'
_CYCLES: Final = "heartbeat_tuner_cycle_duration_seconds_count"
DEFINITIONS: Final = tuple(f"{kind.plural}.{fields.GROUP}" for kind in crd.KINDS)


@pytest.fixture
def stage() -> Iterator[Stage]:
    """A cluster with nothing of ours but the images."""
    with staged() as ready:
        yield ready


@pytest.mark.timeout(2100)
def test_the_life_of_a_release(stage: Stage) -> None:
    """Installed; cures a storm, lends static ids, fits models; upgraded, rolled back, removed: what is to stay does."""
    before = standing(stage.cluster)
    with stage.watch.step("quick start"):
        _quick_start(stage)
    with stage.watch.step("webhook and fit"):
        _turn_all_on(stage)
    with stage.watch.step("static ids"):
        _lend_ids(stage)
    with stage.watch.step("fit"):
        _fit(stage)
    orders = GroupWatch(stage.cluster.kafka.request_log, ORDERS)
    undisturbed_s = time.time()
    with stage.watch.step("upgrade"):
        _upgrade(stage)
    with stage.watch.step("rollback"):
        _roll_back(stage)
    assert orders.measure(undisturbed_s).rebalances == 0
    with stage.watch.step("uninstall"):
        _uninstall(stage, before)


def _quick_start(stage: Stage) -> None:
    """The quick start as printed: a storm is seen, explained, and ended by values that the operator applies."""
    shop, watch = stage.shop, GroupWatch(stage.cluster.kafka.request_log, ORDERS)
    members.deploy_kafkajs(shop, ORDERS, scenario.STORMING)
    shop.await_available(ORDERS)
    with Trickle(stage.cluster.kafka.bootstrap, ORDERS, every_s=MESSAGE_EVERY_S):
        began_s = time.time()
        time.sleep(STORM_S)
        storm = watch.measure(began_s)
        said = stage.release.type_quick_start()
        time.sleep(SETTLING_S)
        quiet_since_s = time.time()
        time.sleep(QUIET_S)
        quiet = watch.measure(quiet_since_s)
    assert "1s → 30s" in said
    assert len(stage.release.pods("operator")) == 2
    assert storm.rebalances >= 3
    assert (quiet.rebalances, quiet.refused) == (0, 0)
    assert quiet.accepted > 0
    applied = shop.policy(ORDERS)["status"]["applied"]
    assert applied["values"] == {"sessionTimeout": "30s", "heartbeatInterval": "1s", "fetchWait": "1s"}
    assert applied["previous"] == {"sessionTimeout": "1s", "heartbeatInterval": "333ms", "fetchWait": "5s"}


def _turn_all_on(stage: Stage) -> None:
    stage.release.upgrade()
    assert [len(stage.release.pods(component)) for component in ("operator", "webhook")] == [2, 2]
    stage.release.await_leader()


def _lend_ids(stage: Stage) -> None:
    """The API server asks the webhook by its Service; a rollout hands ids on, and costs no rebalance."""
    shop = stage.shop
    shop.apply(json.dumps(_static_policy()))
    settings = JavaSettings(session_timeout_ms=20_000, heartbeat_interval_ms=2_000, max_poll_interval_ms=300_000)
    _await_webhook(stage)
    members.deploy_java(shop, STOCK, settings, replicas=STOCK_PODS)
    shop.await_available(STOCK, timeout_s=300)
    record = GroupRecord(stage.cluster.kafka.request_log, stage.cluster.kafka.bootstrap, STOCK)
    _await_members(record)
    ids, rebalances, pods = _ids(shop), record.rebalances(), _names(shop)
    assert len(set(ids)) == STOCK_PODS
    assert all(ids)

    shop.kubectl("rollout", "restart", f"deployment/{STOCK}", f"--namespace={SHOP}")
    shop.await_available(STOCK, timeout_s=240)
    _await_members(record)
    await_log()
    assert not _names(shop) & pods
    assert _ids(shop) == ids
    assert set(record.assignment()) == set(ids)
    assert record.rebalances() == rebalances


def _fit(stage: Stage) -> None:
    """The CronJob's pod reads days from Prometheus, and writes models that the API server has."""
    release = stage.release
    release.kubectl("create", "job", "first-fit", f"--from=cronjob/{NAME}-fit")

    def ended() -> bool:
        status: Mapping[str, Any] = release.get("jobs", "first-fit").get("status", {})
        return any(condition["type"] in {"Complete", "Failed"} for condition in status.get("conditions", ()))

    wait_until(ended, part="fit", what="its end", timeout_s=300, poll_s=1)
    log = release.kubectl("logs", "job/first-fit", "--tail=40")
    assert release.get("jobs", "first-fit")["status"].get("succeeded") == 1, log
    found = json.loads(stage.shop.kubectl("get", "consumergroupmodels", "--all-namespaces", "--output=json"))["items"]
    fitted = {(item["metadata"]["namespace"], item["spec"]["groupId"]) for item in found}
    assert fitted == {(item.namespace, item.group) for item in stage.fitted}


def _upgrade(stage: Stage) -> None:
    """Other values: other pods, one of which leads, and a policy that is told again what it was told."""
    release = stage.release
    pods = {pod["metadata"]["name"] for pod in release.pods("operator")}
    release.upgrade("operator.interval=2s")
    assert release.configuration()["interval"] == "2s"
    release.await_leader()
    assert not {pod["metadata"]["name"] for pod in release.pods("operator")} & pods
    _await_healthy(stage)


def _roll_back(stage: Stage) -> None:
    release = stage.release
    release.rollback(2)
    assert release.configuration()["interval"] == INTERVAL
    release.await_leader()
    _await_healthy(stage)


def _uninstall(stage: Stage, before: set[str]) -> None:
    """What the chart's README says stays; the consumers go on with what was applied to them."""
    release, shop = stage.release, stage.shop
    release.uninstall()
    expected = {
        *(f"customresourcedefinition.apiextensions.k8s.io/{name}" for name in DEFINITIONS),
        f"apiservice.apiregistration.k8s.io/{fields.VERSION}.{fields.GROUP}",
        f"namespace/{NAME}",
        "serviceaccount/default",
        "configmap/kube-root-ca.crt",
        f"persistentvolumeclaim/{HISTORY_CLAIM}",
        f"lease.coordination.k8s.io/{NAME}",
        f"secret/{NAME}-webhook",
    }
    left: set[str] = set()

    def settled() -> bool:
        left.clear()
        left.update(standing(stage.cluster) - before)
        return left == expected

    try:
        wait_until(settled, part="install", what="what is to go to be gone", timeout_s=90, poll_s=2)
    except Exception:
        assert left == expected
        raise
    env = shop.get("deployments", ORDERS)["spec"]["template"]["spec"]["containers"][0]["env"]
    assert {"name": "KAFKA_SESSION_TIMEOUT_MS", "value": "30000"} in env
    assert shop.policy(ORDERS)["status"]["applied"]
    # Nobody is asked about a pod any more: it starts, as a dynamic member.
    shop.kubectl("delete", "pod", min(_names(shop)), f"--namespace={SHOP}")
    shop.await_available(STOCK, timeout_s=240)
    assert _ids(shop).count("") == 1


def _static_policy() -> dict[str, Any]:
    policy = policy_document(STOCK)
    policy["spec"] |= {"client": {"library": "java"}, "staticMembership": "Enabled"}
    return policy


def _await_webhook(stage: Stage) -> None:
    """Wait until the API server asks the webhook, and the webhook knows the policy."""
    pod = json.dumps(pod_of(STOCK))
    create = ("create", "--dry-run=server", "--filename=-", f"--namespace={SHOP}", "--output=json")

    def known() -> bool:
        stage.shop.kubectl(*create, stdin=pod)
        return any(stage.release.counted(pod, _DRY_RUNS) for pod in stage.release.pods("webhook"))

    wait_until(known, part="webhook", what="the policy", timeout_s=60, poll_s=0.5)


def _await_members(record: GroupRecord) -> None:
    def complete() -> bool:
        found = record.assignment()
        return len(found) == STOCK_PODS and all(found.values())

    wait_until(complete, part=STOCK, what="all its members", timeout_s=90, poll_s=0.5)


def _await_healthy(stage: Stage) -> None:
    """Wait until the operator's pods, which may be new, have looked at the group and found it well."""

    def healthy() -> bool:
        looked = sum(stage.release.counted(pod, _CYCLES) for pod in stage.release.pods("operator"))
        return looked >= 2 and stage.shop.policy(ORDERS).get("status", {}).get("verdict") in {"Healthy", "Unproven"}

    wait_until(healthy, part="operator", what="its verdict that the group is healthy", timeout_s=150, poll_s=1)


def _ids(shop: Tenant) -> list[str]:
    return sorted(map(pod_lives.instance_id, shop.get("pods", labels=f"app={STOCK}")["items"]))


def _names(shop: Tenant) -> set[str]:
    return {item["metadata"]["name"] for item in shop.get("pods", labels=f"app={STOCK}")["items"]}
