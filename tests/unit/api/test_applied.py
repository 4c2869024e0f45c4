"""The record that a write carries: there and back, and nothing read from what others wrote there."""

import dataclasses
import json
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.api import applied, parsing
from heartbeat_tuner.api.v1alpha1 import fields
from heartbeat_tuner.api.v1alpha1.changes_v1alpha1 import MAX_FAILED_MESSAGE, Applied
from heartbeat_tuner.domain.policies import Application, TakenBack
from heartbeat_tuner.domain.verifications import MOST_FAILED, FailedValues, Outcome, PromisedRate
from tests.support import manifests, worlds

CURE = Application(worlds.settings("30s", "1s", "1s"), worlds.STORM, worlds.NOW, "workload-1", "app")
JAVA = Application(worlds.java_settings("45s"), worlds.java_settings("6s"), worlds.NOW, "workload-1")
TEXT = applied.to_annotation({"app": CURE})
FAILED = FailedValues(
    CURE.values, worlds.STORM, worlds.NOW - worlds.HOUR, Outcome.WORSE, "11 episodes", "0123456789abcdef", 0.25, 3.5
)
REVERT = Application(
    worlds.STORM,
    CURE.values,
    worlds.NOW,
    "workload-1",
    "app",
    entries={"KAFKA_SESSION_TIMEOUT_MS": "1000"},
    entries_before={},
    promise=PromisedRate(0.5, is_trade=True, stalled_before=40.0, stalled_after=90.0),
    reverts=FAILED.at,
    failed=(FAILED,),
)
NOTED = json.loads(applied.to_annotation({"app": REVERT}))["app"]

moments = st.integers(0, 40_000_000).map(lambda after_s: worlds.NOW + timedelta(seconds=after_s))
values = st.sampled_from([worlds.STORM, CURE.values, JAVA.values])
words = st.text(st.characters(exclude_categories=["Cs"]), max_size=64)
rates = st.floats(0.0, allow_infinity=False)
entries = st.dictionaries(words, words, max_size=3)
documents = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(sorted(NOTED)), inner, max_size=3),
    max_leaves=6,
)


def test_what_is_noted_is_read_again() -> None:
    """Each container has its own record, with all its values."""
    noted = applied.to_annotation({"app": CURE, "second": JAVA})
    assert applied.from_annotation(noted, workload_uid="workload-1") == {"app": CURE, "second": JAVA}


@given(
    st.builds(
        Application,
        values=values,
        previous=values,
        at=moments,
        workload_uid=st.just("workload-1"),
        container=st.sampled_from(["", "app"]),
        entries=entries,
        entries_before=st.none() | entries,
        promise=st.none() | st.builds(PromisedRate, rates, st.booleans()),
        reverts=st.none() | moments,
        reason=st.none() | words,
        baseline=st.none() | values,
        failed=st.lists(
            st.builds(
                FailedValues,
                values,
                values,
                moments,
                st.sampled_from(Outcome),
                words,
                st.text("0123456789abcdef", max_size=16),
                st.none() | rates,
                st.none() | rates,
            ),
            max_size=MOST_FAILED,
        ).map(tuple),
    )
)
def test_a_change_with_all_that_belongs_to_it_is_read_as_it_was_noted(application: Application) -> None:
    """What it promised, what stood before it to the letter, what it takes back, and what failed until then."""
    noted = applied.applied_of(application).model_dump_json(by_alias=True, exclude_none=True)
    assert applied.application_of(Applied.model_validate_json(noted)) == application


def test_that_nothing_stood_before_is_not_that_nobody_knows() -> None:
    """A revert of the first change takes all of ours out; where nobody noted what stood, nothing is taken back."""
    given: tuple[dict[str, str] | None, ...] = ({}, None)
    for before in given:
        application = dataclasses.replace(CURE, entries_before=before)
        (noted,) = applied.from_annotation(
            applied.to_annotation({"app": application}), workload_uid="workload-1"
        ).values()
        assert noted.entries_before == before


def test_only_so_many_failures_are_noted_and_none_is_long() -> None:
    """The newest; the annotation of a workload must not grow with what goes wrong."""
    failed = [dataclasses.replace(FAILED, at=FAILED.at + timedelta(days=day), message="x" * 5_000) for day in range(9)]
    noted = applied.failed_statuses(failed)
    assert noted is not None
    assert [applied.timestamp(values.at) for values in failed[-MOST_FAILED:]] == [values.at for values in noted]
    assert {len(values.message) for values in noted} == {MAX_FAILED_MESSAGE}


@pytest.mark.parametrize(
    "forged",
    [
        {"revertedChangeTime": "0001-01-01T00:00:00+14:00"},
        {"revertedChangeTime": "9999-12-31T23:59:59-14:00"},
        {"revertedChangeTime": "soon"},
        {"failed": [{**NOTED["failed"][0], "changeTime": "2026-03-02T12:00:00"}]},
        {"failed": [{**NOTED["failed"][0], "outcome": "x" * 65}]},
        {"failed": [{**NOTED["failed"][0], "promisedPerDay": float("nan")}]},
        {"failed": [{**NOTED["failed"][0], "observedPerDay": -1.0}]},
        {"failed": [NOTED["failed"][0]] * (MOST_FAILED + 1)},
        {"promise": {"evictionsPerDayUpper": float("nan")}},
        {"promise": {"evictionsPerDayUpper": float("inf")}},
        {"promise": {"evictionsPerDayUpper": -1.0}},
        {"previousEntries": {"KAFKA_SESSION_TIMEOUT_MS": 7}},
        {"previousEntries": []},
        {"baseline": {"sessionTimeout": "0s", "heartbeatInterval": "1s", "fetchWait": "1s"}},
        {"baseline": applied.values_of(JAVA.values).model_dump(by_alias=True)},
    ],
)
def test_a_record_with_a_word_that_cannot_be_counts_for_nothing(forged: dict[str, Any]) -> None:
    """Half of a record would be another record: what it takes back, or what stood before it, is not guessed."""
    text = json.dumps({"app": {**NOTED, **forged}})
    assert applied.from_annotation(text, workload_uid="workload-1") == {}


def test_the_note_has_the_document_of_the_status() -> None:
    """Fractions as text in both: who compares them finds no difference."""
    assert applied.applied_of(REVERT).failed is not None
    assert fields.stored(applied.applied_of(REVERT)) == NOTED


def test_names_of_an_earlier_version_are_read() -> None:
    """Nobody renames what stands at a workload: an upgrade must not forget its changes."""
    earlier = {"changeTime": "at", "revertedChangeTime": "reverts", "startTime": "begun"}
    failed = [{earlier.get(name, name): value for name, value in each.items()} for each in NOTED["failed"]]
    renamed = {earlier.get(name, name): value for name, value in NOTED.items()} | {"failed": failed}
    assert {"at", "reverts"} <= renamed.keys()
    assert applied.from_annotation(json.dumps({"app": renamed}), workload_uid="workload-1") == {"app": REVERT}


def test_a_word_of_another_version_is_no_reason_to_try_again() -> None:
    """The record stays, and no model can learn from a failure that this version does not know."""
    text = json.dumps({"app": {**NOTED, "failed": [{**NOTED["failed"][0], "outcome": "Excellent"}]}})
    (noted,) = applied.from_annotation(text, workload_uid="workload-1").values()
    assert noted.failed == (dataclasses.replace(FAILED, outcome=Outcome.ROLLOUT_FAILED),)


def test_what_failed_at_no_time_of_ours_did_not_fail() -> None:
    """Neither by the workload's note nor by the status: such a moment cannot be written down again."""
    forged = [NOTED["failed"][0], {**NOTED["failed"][0], "changeTime": "0001-01-01T00:00:00+14:00"}]
    text = json.dumps({"app": {**NOTED, "failed": forged}})
    assert applied.from_annotation(text, workload_uid="workload-1") == {"app": REVERT}
    assert parsing.policy_of(manifests.policy(status={"reverted": forged})).failed == (FAILED,)


@given(st.dictionaries(st.sampled_from(sorted(NOTED)), documents, max_size=3))
def test_no_forged_record_raises_when_it_is_read_or_noted_again(forged: dict[str, Any]) -> None:
    """A status shows what the workload says: what is read has to be writable, and in JSON."""
    for noted in applied.from_annotation(json.dumps({"app": {**NOTED, **forged}}), workload_uid="workload-1").values():
        json.dumps(applied.applied_of(noted).model_dump(mode="json", by_alias=True), allow_nan=False)


def test_a_time_of_another_zone_is_the_same_time() -> None:
    """Else a cooldown would be hours off."""
    (noted,) = applied.from_annotation(
        TEXT.replace("2026-03-02T12:00:00Z", "2026-03-02T17:00:00+05:00"), workload_uid="workload-1"
    ).values()
    assert noted.at == worlds.NOW
    assert applied.applied_of(noted).at == "2026-03-02T12:00:00Z"


def test_the_record_of_another_object_is_not_ours() -> None:
    """Manifests are copied with their annotations."""
    assert applied.from_annotation(TEXT, workload_uid="workload-2") == {}


@pytest.mark.parametrize(
    "text",
    [
        *(None, "", "null", "[]", "7", "{", '{"app": 1}', '{"app": {}}', "[" * 100_000),
        TEXT.replace("30s", "soon"),
        TEXT.replace("333ms", "0s"),
        TEXT.replace("2026-03-02T12:00:00Z", "yesterday"),
        TEXT.replace("2026-03-02T12:00:00Z", "2026-03-02T12:00:00"),
        TEXT.replace('"fetchWait":"1s",', ""),
        TEXT.replace("2026-03-02T12:00:00Z", "9999-12-31T23:59:59Z"),
        TEXT.replace("2026-03-02T12:00:00Z", "0001-01-01T00:00:00+14:00"),
        TEXT.replace('"sessionTimeout":"30s"', '"sessionTimeout":"30s","maxPollInterval":"5m"'),
    ],
)
def test_what_is_no_record_counts_for_nothing(text: str | None) -> None:
    """Who may edit the workload may write anything there; it costs nobody a cycle."""
    assert applied.from_annotation(text, workload_uid="workload-1") == {}


@pytest.mark.parametrize("spec", ["0123456789abcdef", ""], ids=["noted", "of an older version"])
def test_a_take_back_comes_back_as_it_was_noted(spec: str) -> None:
    """With what was asked for then: the next leader must not write for the same."""
    taken_back = TakenBack(CURE, CURE.at, generation=3, by="argocd-controller", spec=spec)
    assert applied.taken_back_of(applied.noted_of(taken_back)) == taken_back


def test_one_broken_record_does_not_hide_the_other() -> None:
    """Containers are looked at one by one."""
    both = applied.to_annotation({"app": CURE, "second": JAVA}).replace("333ms", "-1s")
    assert applied.from_annotation(both, workload_uid="workload-1") == {"second": JAVA}


@given(st.text() | st.recursive(st.none() | st.integers() | st.text(), st.lists, max_leaves=5).map(str))
def test_no_text_raises(text: str) -> None:
    """A tenant's words never end a cycle."""
    applied.from_annotation(text, workload_uid="workload-1")


def test_what_failed_is_read_as_it_was_noted() -> None:
    """Of each container, and of this very object: a manifest may be copied with its annotations."""
    text = applied.to_failed_annotation({"app": (FAILED,), "second": (FAILED, FAILED)}, workload_uid="workload-1")
    assert applied.from_failed_annotation(text, workload_uid="workload-1") == {
        "app": (FAILED,),
        "second": (FAILED, FAILED),
    }
    assert applied.from_failed_annotation(text, workload_uid="workload-2") == {}


@pytest.mark.parametrize(
    "text", [None, "", "null", "[]", "{", "[" * 100_000, '{"app": 1}', '{"app": {"workloadUid": "workload-1"}}']
)
def test_a_broken_note_of_failures_counts_for_nothing(text: str | None) -> None:
    """Anybody who may edit the workload may write anything there."""
    assert applied.from_failed_annotation(text, workload_uid="workload-1") == {}
