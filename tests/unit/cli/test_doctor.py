"""What `doctor` prints: what a person can act on, and nothing that a foreign label could do to a terminal."""

import json
from typing import Any

import pytest
import yaml

from heartbeat_tuner.cli import doctor
from heartbeat_tuner.cli.wording import shown
from heartbeat_tuner.doctor.inventory import Diagnosis
from heartbeat_tuner.metrics.conventions import java_metrics, kafkajs_metrics, platform
from heartbeat_tuner.metrics.raw.samples import Series
from heartbeat_tuner.metrics.vocabulary import Quantity
from tests.support.inventories import diagnosed, exported, near, stranger
from tests.support.telling import doctor_text as text

HOSTILE = {
    "long": "x" * 10_000,
    "quotes": "a\"b'c`d",
    "lines": "a\nb\r\nc\vd",
    "escapes": "\x1b[31mred\x1b[2J\x1b]0;title\x07",
    "direction": "a\u202eb\u2066c",
    "promql": 'orders"} or up{x="',
    "unicode": "größe-日本語-🎉",
    "markup": "[bold]${HOME}`id`",
    "surrogate": "a\ud800b",
}


def words(found: Diagnosis) -> str:
    """Return it in one line."""
    return " ".join(text(found).split())


def test_a_whole_group_is_one_line_and_what_is_read_of_it() -> None:
    """And a summary."""
    said = text(diagnosed(exported(kafkajs_metrics.EXPORTER), exported(kafkajs_metrics.EXPORTER, pod="orders-1")))
    lines = said.splitlines()
    assert lines[1].split() == [
        "orders",
        "shop",
        "kafkajs",
        "2",
        "2",
        "0",
        "every",
        "30",
        "s",
        "5",
        "s",
        "ago",
        "nothing",
    ]
    assert "heartbeats 1 of 1 S H W how often a member beats" in " ".join(said.split())
    assert lines[-1] == "0 errors, 0 warnings, 0 for information; 1 of 1 group measurable"


def test_who_rebalances_most_comes_first() -> None:
    """Whatever its name: the others wait."""
    climbing = exported(kafkajs_metrics.EXPORTER, "storm", namespace="zoo")
    storm = [
        Series.from_raw(item.labels, ((sample.time_s, 9.0 * place) for place, sample in enumerate(item.samples)))
        for item in climbing
    ]
    found = diagnosed(exported(kafkajs_metrics.EXPORTER), storm, exported(java_metrics.JMX_EXPORTER, "blind"))
    said = text(found).splitlines()
    assert said[0].startswith("Rejoins of a member in the last 10m, on average: storm (zoo) 27. A rollout")
    assert [line.split()[0] for line in said[4:7]] == ["storm", "blind", "orders"]
    assert [group["rejoinsPerMember"] for group in doctor.document(found)["groups"]] == [27.0, 0.0, 0.0]
    assert "Rejoins of" not in text(diagnosed(exported(kafkajs_metrics.EXPORTER)))


def test_a_finding_says_what_is_missing_what_for_and_what_to_paste() -> None:
    """A snippet stands as it is: copied, it is whole."""
    found = diagnosed(exported(java_metrics.STRIMZI, without={Quantity.POLL_GAP_MAX}))
    said = text(found)
    assert "warning: quantity-missing" in said
    assert "kafka_consumer_time_between_poll_max (how long handlers take)" in " ".join(said.split())
    (finding,) = found.findings
    assert finding.fix is not None
    pasted = "\n".join(line[4:] for line in said.splitlines() if line.startswith("    "))
    assert yaml.safe_load(pasted) == yaml.safe_load(finding.fix.snippet)


def test_groups_that_lack_the_same_are_told_together() -> None:
    """Two hundred groups of one exporter need one rule."""
    groups = [exported(java_metrics.STRIMZI, f"g-{number}", without={Quantity.POLL_GAP_MAX}) for number in range(9)]
    said = words(diagnosed(*groups))
    assert said.count("warning: quantity-missing") == 1
    assert "g-0 (shop), g-1 (shop), g-2 (shop), g-3 (shop), g-4 (shop), and 4 more: less can be known" in said


def test_who_lacks_much_is_told_how_much() -> None:
    """A line of a table is no list."""
    without = [item for item in java_metrics.JMX_EXPORTER.by_quantity if item is not Quantity.HEARTBEATS]
    assert "6/7" in text(diagnosed(exported(java_metrics.JMX_EXPORTER, without=without)))


def test_what_can_be_measured_is_a_line_for_each_quantity() -> None:
    """And what is missing around the pods comes after what has to be done."""
    found = diagnosed(
        exported(java_metrics.JMX_EXPORTER, without={Quantity.POLL_GAP_MAX}), around=near(platform.PROMETHEUS)
    )
    said = text(found)
    assert "absences              1 of 1  shown by missing heartbeats, failed scrapes\n" in said
    assert "pollGaps              0 of 1  only the mean" in said
    assert "rebalances            1 of 1  nothing tells planned ones from others\n" in said
    assert said.index("warning: quantity-missing") < said.index("info: no-kube-state-metrics")
    assert not any(line.endswith(" ") for line in said.splitlines())


def test_what_nobody_has_to_do_does_not_hide_what_somebody_has_to() -> None:
    """Of many groups, snippets are for what is wrong; of one, all are shown."""
    groups = [exported(java_metrics.JMX_EXPORTER, f"g-{number}") for number in range(2)]
    said = words(diagnosed(*groups, around=[]))
    assert "scrape_configs" not in said
    assert "(--group shows what to paste)" in said
    assert "scrape_configs" in text(diagnosed(groups[0], around=[]))


def test_programs_are_told_what_can_be_measured_and_how_to_get_the_rest() -> None:
    """Of each quantity, with the witnesses of absences by pods."""
    around = [*near(platform.PROMETHEUS), *near(platform.PROMETHEUS, pod="orders-1")]
    found = diagnosed(
        exported(kafkajs_metrics.EXPORTER), exported(kafkajs_metrics.EXPORTER, pod="orders-1"), around=around
    )
    (group,) = doctor.document(found)["groups"]
    covered = group["covered"]
    assert covered["absencesShownBy"] == {"missing-beats": 2, "failed-scrapes": 2}
    assert covered["quantities"]["missingBeats"] == {"measurable": True, "because": None, "fix": None}
    assert covered["quantities"]["pollGaps"]["measurable"] is False
    assert covered["quantities"]["restarts"]["fix"]["snippet"].startswith("scrape_configs:")
    assert doctor.document(diagnosed(exported(kafkajs_metrics.EXPORTER)))["groups"][0]["covered"] is None


@pytest.mark.parametrize("value", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("label", ["group_id", "namespace", "pod", "job"])
def test_hostile_values_are_shown_harmlessly(label: str, value: str) -> None:
    """Every label comes from somebody's pod: none steers a terminal, breaks a table, or fills a screen."""
    more: dict[str, Any] = {label: value}
    series = exported(kafkajs_metrics.EXPORTER, without={Quantity.REBALANCE_NOTICES}, **more)
    said = text(diagnosed(series))
    assert all(item.isprintable() or item == "\n" for item in said)
    assert said.isascii() or label in {"group_id", "namespace", "job"}
    assert max(map(len, said.splitlines())) < 220
    assert "error: needed-missing" in said


@pytest.mark.parametrize("value", HOSTILE.values(), ids=HOSTILE)
def test_hostile_client_ids_and_names_are_shown_harmlessly(value: str) -> None:
    """In examples and in what is to be pasted, too."""
    odd = Series.from_raw(
        {"__name__": f"kafka_{value}_rebalance_total", "namespace": "odd", "job": value}, [(1.0, 1.0)]
    )
    strangers = [odd, stranger("app_kafka_rebalance_total", client=value)]
    found = diagnosed(exported(java_metrics.JMX_EXPORTER, client_id=value), strangers=strangers)
    said = text(found)
    assert all(item.isprintable() or item == "\n" for item in said)
    for finding in found.findings:
        if finding.fix is not None and finding.fix.language == "yaml":
            assert yaml.safe_load(finding.fix.snippet)


@pytest.mark.parametrize("value", HOSTILE.values(), ids=HOSTILE)
def test_programs_get_the_same_and_whole_values(value: str) -> None:
    """Escaped by JSON's and YAML's own rules, so that a program has what Prometheus has."""
    found = diagnosed(exported(kafkajs_metrics.EXPORTER, value))
    document = doctor.document(found)
    as_json, as_yaml = (doctor.as_document(document, output) for output in ("json", "yaml"))
    assert json.loads(as_json) == document
    assert as_json.isascii()
    assert as_yaml.isascii()
    assert yaml.safe_load(as_yaml) == document
    (group,) = document["groups"]
    assert (group["group"], group["measurable"]) == (value, True)
    assert group["quantities"] == dict.fromkeys((item.camel for item in kafkajs_metrics.EXPORTER.by_quantity), True)


def test_findings_are_told_to_programs_with_their_fixes() -> None:
    """Ids and severities are kept from version to version."""
    document = doctor.document(diagnosed(exported(java_metrics.JMX_EXPORTER, without={Quantity.POLL_GAP_MAX})))
    (finding,) = document["findings"]
    assert (finding["id"], finding["severity"], finding["subject"]) == (
        "quantity-missing",
        "warning",
        ["orders", "shop"],
    )
    assert finding["fix"]["language"] == "yaml"


@pytest.mark.parametrize(
    ("foreign", "harmless"),
    [
        ("orders", "orders"),
        ("x" * 41, "x" * 39 + "…"),
        ("\n" * 100, "\\n" * 19 + "\\…"),
        ("a\x1b[0m", "a\\x1b[0m"),
        ("日本", "日本"),
        ("a\u202eb", "a\\u202eb"),
    ],
)
def test_foreign_words_are_escaped_before_they_are_cut(foreign: str, harmless: str) -> None:
    """An escape is longer than what it stands for."""
    assert shown(foreign) == harmless
