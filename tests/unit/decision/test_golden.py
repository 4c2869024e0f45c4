"""What is decided for groups that are described in files is what somebody has read and accepted."""

import re
from pathlib import Path

import pytest
import yaml

from heartbeat_tuner import decision, limits
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.verdicts import Verdict
from tests.golden import __main__ as golden
from tests.golden import cases, files
from tests.golden.cases import CaseError

OUTSIDE_OF_DECIDE = {Reason.NO_SERIES}
"""That rooms beside `decide` give: what metrics alone cannot say."""

SHOWN_IN_PROTOCOL_READY = {
    Reason.PROTOCOL_READY,
    Reason.LIBRARY_LACKS_PROTOCOL,
    Reason.BROKERS_LACK_PROTOCOL,
    Reason.SETTINGS_REFUSED,
    Reason.ASSIGNOR_LACKS_COUNTERPART,
    Reason.BROKERS_NOT_READ,
    Reason.CLIENT_VERSION_UNKNOWN,
}
"""That only the condition ConsumerProtocolReady has; `at_broker/test_migration_readiness.py` shows them."""

PASSED_ON = {Reason.PROMETHEUS_UNREACHABLE, Reason.METRICS_STALE, Reason.WORSE, Reason.ROLLOUT_FAILED}
"""That what measures or verifies gives, and decide passes on."""


@pytest.mark.parametrize("name", files.names())
def test_the_decision_is_the_accepted_one(name: str) -> None:
    """To the word; `make golden-accept` accepts another, and prints what changed."""
    now = files.text_of(cases.decision_of(files.read_input(name)))
    changed = files.difference(name, files.accepted(name), now)
    if changed:
        pytest.fail(f"{changed}\nIf that is as it should be: make golden-accept", pytrace=False)


def test_every_decision_has_its_input() -> None:
    """One that was renamed leaves nothing behind."""
    assert files.orphans() == []


def test_every_reason_and_verdict_has_a_case() -> None:
    """A reason that is added brings a case that shows it."""
    rooms = (decision.__path__[0], limits.__path__[0])
    sources = "".join(path.read_text() for room in rooms for path in Path(room).rglob("*.py"))
    given = {Reason[name] for name in re.findall(r"\bReason\.([A-Z_]+)", sources)}
    decided = [yaml.safe_load(files.accepted(name)) for name in files.names()]
    findings = [*decided, *(case["hold"] for case in decided if "hold" in case)]
    shown = {Reason(finding["reason"]) for finding in findings}
    shown |= {Reason(case["objectiveMet"]) for case in decided if "objectiveMet" in case}
    assert shown == (given - OUTSIDE_OF_DECIDE - SHOWN_IN_PROTOCOL_READY) | PASSED_ON
    assert {Verdict(case["verdict"]) for case in decided} == set(Verdict)


def test_every_case_says_what_it_is_about() -> None:
    """In its first lines, for who reads the folder."""
    for name in files.names():
        text = (files.CASES / f"{name}.input.yaml").read_text()
        assert text.startswith("# "), name


@pytest.mark.parametrize(
    ("case", "complaint"),
    [
        ({"policies": {}}, "the case: policies is not known there; known are annotations, cluster, group, "),
        ({"workload": {"sett": {}}}, "workload: sett is not known there; known are linesOfTheManifest, "),
        (
            {"workload": {"seenIn": {"fetchWait": "helm"}}},
            "workload.seenIn.fetchWait: helm is no source; write one of ",
        ),
        ({"group": {"membersOfOthers": [{"hosts": ""}]}}, "a member of others: hosts is not known there"),
        ({"group": {"consumerProtocol": {"session": "6s"}}}, "group.consumerProtocol: session is not known there"),
        ({"cluster": {"broker": 3}}, "cluster: broker is not known there"),
        ({"record": {"eviction": 3}}, "record: eviction is not known there"),
        ({"record": {"unknown": {"reason": "Stale", "text": ""}}}, "unknown: text is not known there"),
        (
            {"record": {"unknown": {"reason": "Stale", "message": "old"}, "evictions": 3}},
            "record: evictions is not known",
        ),
        ({"model": {"form": "java"}}, "model: form is not known there"),
        (
            {"model": {"from": "kafkajs", "quantities": {"pollGap": {}}}},
            "model.quantities: kafkajs has no pollGap; it has",
        ),
        ({"heartbeatBudget": {"least": "2s"}}, "heartbeatBudget: least is not known there"),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else "",
)
def test_a_field_that_is_not_known_is_refused(case: dict[str, object], complaint: str) -> None:
    """A typing error would make a case another one, and nobody would see it."""
    with pytest.raises(CaseError, match=re.escape(complaint)):
        cases.input_of({"policy": {"client": {"library": "kafkajs"}}, **case})


def test_what_is_accepted_is_written_and_shown(tmp_path: Path) -> None:
    """The differences of each case, new ones and those whose input is gone too; then there are none."""
    (tmp_path / "calm.input.yaml").write_text("policy: {client: {library: kafkajs}}\n")
    (tmp_path / "gone.decision.yaml").write_text("verdict: Change\n")
    changes = golden.accept(tmp_path)
    assert "+++ calm, now\n" in changes
    assert "+verdict: Unproven\n" in changes
    assert "--- gone, accepted\n" in changes
    assert "-verdict: Change\n" in changes
    assert sorted(path.name for path in tmp_path.iterdir()) == ["calm.decision.yaml", "calm.input.yaml"]
    assert golden.accept(tmp_path) == ""
    (tmp_path / "calm.input.yaml").write_text("policy: {client: {library: kafkajs}}\nrecord: {evictions: 1}\n")
    assert "no live member has been evicted since" in golden.accept(tmp_path)


def test_a_case_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    """By its file, whether its own field or the policy's is wrong."""
    (tmp_path / "odd.input.yaml").write_text("policy: {client: {library: share}}\n")
    with pytest.raises(CaseError, match=r"case odd: spec.client.library: client library 'share' fits no policy"):
        golden.accept(tmp_path)
    (tmp_path / "odd.input.yaml").write_text("policy: {client: {library: java}}\nrecords: {}\n")
    with pytest.raises(CaseError, match="case odd: the case: records is not known there"):
        golden.accept(tmp_path)
