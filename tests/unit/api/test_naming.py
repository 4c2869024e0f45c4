"""`spec.metrics`: names and labels of a policy's own, checked at the boundary."""

import re
from typing import Any

import pytest

from heartbeat_tuner.api import crd, parsing
from heartbeat_tuner.api.v1alpha1.naming_v1alpha1 import METRICS_NAME
from heartbeat_tuner.domain.errors import InvalidPolicyError
from heartbeat_tuner.domain.policies import Naming
from heartbeat_tuner.metrics.vocabulary import Quantity, Scope
from tests.support import manifests
from tests.support.naming import naming_of


def test_without_the_section_nothing_is_mapped() -> None:
    """Neither where it says what is so anyway."""
    assert parsing.policy_of(manifests.policy()).naming == Naming()
    assert naming_of({"convention": "auto"}) == Naming()
    assert not naming_of({"convention": "kafkajs"}).maps


def test_names_and_labels_are_taken_as_they_are() -> None:
    """In UTF-8, too."""
    given = {"names": {"pollGapMax": "größe.max"}, "labels": {"clientId": "client.id", "namespace": "ns"}}
    found = naming_of(given, "java")
    assert found == Naming(None, {"pollGapMax": "größe.max"}, {"clientId": "client.id", "namespace": "ns"})
    assert found.maps


@pytest.mark.parametrize(
    ("metrics", "words"),
    [
        (
            {"convention": "kafka-js"},
            "spec.metrics.convention: convention 'kafka-js' is unknown; did you mean kafkajs?",
        ),
        ({"convention": "micrometer"}, "micrometer is not how kafkajs consumers are exported"),
        (
            {"names": {"heartbeats": "a", "rebalances": "a"}},
            "spec.metrics.names.rebalances: a is named for heartbeats too",
        ),
        ({"names": {"heartbeats": ""}}, "spec.metrics.names.heartbeats"),
        ({"names": {"heartbeats": "x" * 201}}, "spec.metrics.names.heartbeats"),
        ({"labels": {"pod": "a b"}}, "spec.metrics.labels.pod: must be the name of a metric or a label"),
        ({"labels": {"group": "__name__"}}, "spec.metrics.labels.group: must be the name of a metric or a label"),
        *(
            ({"names": {"heartbeats": f"a{character}b"}}, "must be the name of a metric or a label")
            for character in "\"'`{}\\\n\x00\x7f\ufffd"
        ),
    ],
)
def test_what_cannot_be_meant_is_refused(metrics: dict[str, Any], words: str) -> None:
    """With field, value, rule and fix."""
    with pytest.raises(InvalidPolicyError) as caught:
        naming_of(metrics)
    assert words in str(caught.value)


def schema() -> dict[str, Any]:
    """Return the section's schema."""
    (version,) = crd.manifest(crd.POLICY)["spec"]["versions"]
    found: dict[str, Any] = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["metrics"]
    return found


def test_each_quantity_of_a_consumer_can_be_named() -> None:
    """By the vocabulary's own names; what is Kubernetes' or the broker's cannot."""
    known = set(schema()["properties"]["names"]["properties"])
    assert known == {item.camel for item in Quantity if item.scope is Scope.MEMBER}


def test_the_api_servers_rule_is_the_tuners() -> None:
    """What `kubectl apply` refuses and what the operator refuses are the same names."""
    (rule,) = schema()["properties"]["labels"]["properties"]["pod"]["x-kubernetes-validations"]
    pattern = rule["rule"].partition("r'")[2].partition("')")[0]
    readable = re.sub(r"\\x\{([0-9A-F]+)\}", lambda found: re.escape(chr(int(found[1], 16))), pattern)
    for code in [*range(0x250), 0xFFFD, 0x1F600]:
        name = f"a{chr(code)}"
        # RE2's ^ and $ are the ends of the text; Python's $ is before a last line break, too.
        theirs = re.fullmatch(readable.strip("^$"), name) is not None
        assert theirs == (re.fullmatch(METRICS_NAME, name) is not None), code


def test_the_convention_is_one_of_those_that_are_known() -> None:
    """Kubectl names them where somebody writes another."""
    assert {"auto", "jmx-exporter", "kafkajs"} <= set(schema()["properties"]["convention"]["enum"])
