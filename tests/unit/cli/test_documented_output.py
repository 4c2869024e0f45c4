"""The output on the how-to pages is what the commands print."""

import shlex
import textwrap
from datetime import timedelta

import pytest
import yaml

from heartbeat_tuner.cli import explain, recommend, simulate
from heartbeat_tuner.domain.policies import Naming
from heartbeat_tuner.metrics.conventions import java_metrics, kafkajs_metrics, platform
from heartbeat_tuner.metrics.vocabulary import ValueKind
from tests.support import cases, checks, counters, documents, worlds
from tests.support.inventories import diagnosed, exported, near
from tests.support.naming import naming_of
from tests.support.telling import doctor_text
from tests.support.worlds import HOUR, NOW

pytestmark = pytest.mark.no_cover  # plays a month

CLUSTER = (platform.KUBE_STATE_METRICS, platform.KUBE_STATE_METRICS_CONTAINERS, platform.CADVISOR, platform.PROMETHEUS)
DOCTOR = "docs/how-to/doctor.md"
RECOMMEND = "docs/how-to/recommend.md"
NAMES = "docs/how-to/metrics-names.md"


def shown(page: str, number: int) -> str:
    """Return what a page shows after the command of a console block."""
    return documents.code_blocks(page, "console")[number].partition("\n")[2]


def test_the_page_shows_what_doctor_prints() -> None:
    """Of a KafkaJS group that is whole, and one of Strimzi's rules, which drop maxima, in a cluster that is watched."""
    maxima = {item for item in java_metrics.STRIMZI.by_quantity if item.kind is ValueKind.WINDOWED_MAX}
    groups = [
        *(exported(kafkajs_metrics.EXPORTER, pod=f"orders-{number}") for number in range(3)),
        *(
            exported(java_metrics.STRIMZI, "billing", namespace="bank", pod=f"billing-{number}", without=maxima)
            for number in range(2)
        ),
    ]
    around = [
        *(item for number in range(3) for item in near(*CLUSTER, platform.PROM_CLIENT, pod=f"orders-{number}")),
        *(
            item
            for number in range(2)
            for item in near(*CLUSTER, platform.JVM_CLIENT_JAVA, namespace="bank", pod=f"billing-{number}")
        ),
    ]
    assert shown(DOCTOR, 0) == doctor_text(diagnosed(*groups, around=around))


def test_the_page_shows_what_recommend_prints() -> None:
    """Of the storm that everything here begins with."""
    storm = counters.stormy(worlds.pods(), NOW - HOUR - timedelta(minutes=5), NOW)
    assert shown(RECOMMEND, 0) == recommend.as_text(cases.watched(storm, cases.unmodelled()))


@pytest.mark.timeout(180)  # a month is played, 4 s on a quiet machine
def test_the_page_shows_what_a_model_says() -> None:
    """Recommended, explained and played: of three Java members that were watched for two weeks."""
    case = cases.by_model()
    assert shown(RECOMMEND, 1) == recommend.as_text(case)
    assert shown(RECOMMEND, 2) == explain.as_text(case)
    plan = simulate.planned(case, worlds.java_settings(session="20s"), static=None)
    assert plan is not None
    scenes = simulate.played(plan, days=30, seed=1, rollout=True)
    assert shown(RECOMMEND, 3) == simulate.as_text(case, plan, scenes, 30, 1)


def test_the_page_shows_what_the_sample_comes_to() -> None:
    """Typed as printed: on any day the same."""
    command, _, answer = documents.code_blocks(RECOMMEND, "console")[4].partition("\n")
    assert checks.run(*shlex.split(command)[2:]).stdout == answer


def test_the_page_on_names_has_policies_that_are_read_as_meant() -> None:
    """Whoever copies a section gets what the page says of it."""
    sections = [yaml.safe_load(textwrap.dedent(block)).get("spec") for block in documents.code_blocks(NAMES, "yaml")]
    policies = [section for section in sections if section is not None]
    assert [naming_of(policy["metrics"], "java") for policy in policies] == [
        Naming("micrometer"),
        Naming(None, {"pollGapMax": "app_time_between_poll_max", "rebalances": "app_kafka_rebalance_total"}),
        Naming(None, {}, {"namespace": "kubernetes_namespace", "pod": "kubernetes_pod_name", "clientId": "client"}),
        Naming(None, {}, {"group": "kafka_group"}),
    ]
