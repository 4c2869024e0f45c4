"""The output on the how-to pages is what the commands print."""

import textwrap
from datetime import timedelta

import yaml

from heartbeat_tuner.cli import recommend
from heartbeat_tuner.domain.policies import Naming
from heartbeat_tuner.metrics.conventions import java, kafkajs
from heartbeat_tuner.metrics.vocabulary import Quantity
from tests.support import counters, documents, worlds
from tests.support.inventories import diagnosed, exported
from tests.support.naming import naming_of
from tests.support.telling import answer, doctor_text
from tests.support.worlds import HOUR, NOW

DOCTOR = "docs/how-to/doctor.md"
NAMES = "docs/how-to/metrics-names.md"


def shown(page: str, number: int) -> str:
    """Return what a page shows after the command of a console block."""
    return documents.code_blocks(page, "console")[number].partition("\n")[2]


def test_the_page_shows_what_doctor_prints() -> None:
    """Of a KafkaJS group that is whole, and one of Strimzi's rules, which drop maxima."""
    groups = [
        *(exported(kafkajs.EXPORTER, pod=f"orders-{number}") for number in range(3)),
        *(
            exported(
                java.STRIMZI, "billing", namespace="bank", pod=f"billing-{number}", without={Quantity.POLL_GAP_MAX}
            )
            for number in range(2)
        ),
    ]
    assert shown(DOCTOR, 0) == doctor_text(diagnosed(*groups))


def test_the_page_shows_what_recommend_prints() -> None:
    """Of the storm that everything here begins with."""
    storm = counters.stormy(worlds.pods(), NOW - HOUR - timedelta(minutes=5), NOW)
    assert shown(DOCTOR, 1) == recommend.as_text(answer(storm), HOUR)


def test_the_page_on_names_has_policies_that_are_read_as_meant() -> None:
    """Whoever copies a section gets what the page says of it."""
    sections = [yaml.safe_load(textwrap.dedent(block)).get("spec") for block in documents.code_blocks(NAMES, "yaml")]
    policies = [one for one in sections if one is not None]
    assert [naming_of(one["metrics"], "java") for one in policies] == [
        Naming("micrometer"),
        Naming(None, {"pollGapMax": "app_time_between_poll_max", "rebalances": "app_kafka_rebalance_total"}),
        Naming(None, {}, {"namespace": "kubernetes_namespace", "pod": "kubernetes_pod_name", "clientId": "client"}),
        Naming(None, {}, {"group": "kafka_group"}),
    ]
