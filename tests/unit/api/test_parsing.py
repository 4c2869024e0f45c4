"""From an object to a domain policy, and what a field that does not fit is told."""

import dataclasses
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from heartbeat_tuner.api import parsing
from heartbeat_tuner.api.v1alpha1.status_v1alpha1 import Status
from heartbeat_tuner.decision.gates import taken_back
from heartbeat_tuner.domain.errors import InvalidPolicyError
from heartbeat_tuner.domain.evidence import Holdings
from heartbeat_tuner.domain.liveness import Setting
from heartbeat_tuner.domain.policies import Application, Mode, Objective, ObjectKey, Range, Window, WorkloadRef
from heartbeat_tuner.domain.verdicts import Verdict
from tests.support import manifests, worlds

VALUES = {"sessionTimeout": "30s", "heartbeatInterval": "1s", "fetchWait": "1s"}
BEFORE = {"sessionTimeout": "1s", "heartbeatInterval": "333ms", "fetchWait": "5s"}
APPLIED = {"values": VALUES, "previous": BEFORE, "changeTime": "2026-03-02T11:00:00Z", "workloadUid": "workload-1"}

MARCH = datetime(2026, 3, 1, tzinfo=UTC)
TWO: list[dict[str, Any]] = [
    {"name": "orders", "container": "app"},
    {"kind": "StatefulSet", "name": "orders", "container": "worker"},
]
WINDOW = {"schedule": "0 2 * * 1-5", "duration": "3h", "timeZone": "Europe/Berlin"}


def window(**changes: str) -> dict[str, Any]:
    """Return a spec's part: one window with `changes`."""
    return {"rollout": {"windows": [WINDOW | changes]}}


def test_a_minimal_policy_has_defaults() -> None:
    """What is left out is what the documentation says."""
    policy = parsing.policy_of(manifests.policy(spec={"mode": None}))
    assert policy.mode is Mode.RECOMMEND
    assert policy.objective == Objective(worlds.seconds(300), 1.0)
    assert policy.cooldown == timedelta(hours=24)
    assert (policy.bounds, policy.declared, policy.suspended, policy.application) == ({}, {}, False, None)
    assert policy.env_names == worlds.policy().env_names


@pytest.mark.parametrize(("library", "text"), [("sarama", "1m30s"), ("kafka-python", "90000")])
def test_values_are_written_as_the_librarys_applications_read_them(library: str, text: str) -> None:
    """An application in Go ends at once where a duration has no unit, and all others where it has one."""
    policy = parsing.policy_of(manifests.policy(spec={"client": {"library": library}}))
    assert list(policy.entries({Setting.SESSION_TIMEOUT: timedelta(seconds=90)}).values()) == [text]


def test_a_default_does_not_contradict_the_users_own_bound() -> None:
    """A session of ten minutes and more was asked for: nobody then means 5 minutes."""
    policy = parsing.policy_of(manifests.policy(spec={"bounds": {"sessionTimeout": {"min": "10m"}}}))
    assert policy.objective.max_detection_time == timedelta(minutes=10)


def test_identity_and_references_are_taken_over() -> None:
    """A policy reaches only a workload of its own namespace."""
    policy = parsing.policy_of(manifests.policy("eu", namespace="bank", generation=4))
    assert (policy.key, policy.uid, policy.generation) == (ObjectKey("bank", "eu"), "uid-of-bank-eu", 4)
    assert policy.created == datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
    assert policy.workload == WorkloadRef("Deployment", ObjectKey("bank", "orders-consumer"), "app")
    assert (policy.group_id, policy.cluster, policy.library) == ("orders", "main", "kafkajs")


def test_every_option_is_honoured() -> None:
    """What is written is what is done."""
    policy = parsing.policy_of(
        manifests.policy(
            spec={
                "mode": "Recommend",
                "suspend": True,
                "rollout": {"cooldown": "90m"},
                "objective": {"maxDetectionTime": "20s", "maxFalseEvictionsPerMonth": 5},
                "bounds": {
                    "sessionTimeout": {"min": "10s", "max": "2m"},
                    "heartbeatInterval": {"min": "1s"},
                    "fetchWait": {"max": "5s"},
                },
                "client": {
                    "library": "kafkajs",
                    "env": {"fetchWait": {"name": "MAX_WAIT"}},
                    "current": {"sessionTimeout": "1s", "heartbeatInterval": "5s"},
                },
            }
        )
    )
    assert (policy.mode, policy.suspended, policy.cooldown) == (Mode.RECOMMEND, True, timedelta(minutes=90))
    assert policy.objective == Objective(worlds.seconds(20), 5.0)
    assert policy.range_of(Setting.SESSION_TIMEOUT) == Range(worlds.seconds(10), worlds.seconds(120))
    assert policy.range_of(Setting.HEARTBEAT_INTERVAL) == Range(worlds.seconds(1), None)
    assert policy.range_of(Setting.FETCH_WAIT) == Range(None, worlds.seconds(5))
    assert policy.env_names == {**worlds.policy().env_names, Setting.FETCH_WAIT: "MAX_WAIT"}
    assert policy.declared == {
        Setting.SESSION_TIMEOUT: worlds.seconds(1),
        Setting.HEARTBEAT_INTERVAL: worlds.seconds(5),
    }


@pytest.mark.parametrize(
    "schedule",
    [
        "0 2 * * 1-5",
        "0-30/10,45  2,3 1-7 jan-Mar,DEC SUN",
        "0 2 ? * 7",
        "*/5 * */2 * *",
        "0 2 1-31/2 * 1",
        "5 4 29 2 *",
    ],
)
def test_windows_are_taken_over(schedule: str) -> None:
    """As a CronJob's schedule may be written; without a zone it is meant in UTC."""
    spec = window(schedule=schedule)
    spec["rollout"]["windows"].append({"schedule": "0 22 * * *", "duration": "1h30m"})
    policy = parsing.policy_of(manifests.policy(spec=spec))
    assert policy.windows == (
        Window(schedule.replace("?", "*"), timedelta(hours=3), ZoneInfo("Europe/Berlin")),
        Window("0 22 * * *", timedelta(minutes=90), ZoneInfo("UTC")),
    )


def test_declared_settings_are_not_refused_for_being_unsound() -> None:
    """Groups that really run H >= S are the ones that need help."""
    current = {"sessionTimeout": "1s", "heartbeatInterval": "1h"}
    body = manifests.policy(spec={"client": {"library": "kafkajs", "current": current}})
    assert parsing.policy_of(body).declared[Setting.HEARTBEAT_INTERVAL] == timedelta(hours=1)


def test_the_last_application_is_remembered_by_the_status() -> None:
    """A restarted operator knows what it wrote and when."""
    policy = parsing.policy_of(manifests.policy(status={"applied": APPLIED}))
    assert policy.application == Application(
        values=worlds.settings("30s", "1s", "1s"),
        previous=worlds.STORM,
        at=datetime(2026, 3, 2, 11, 0, tzinfo=UTC),
        workload_uid="workload-1",
    )


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ({"groupId": None}, "spec.groupId: this field is required; add it"),
        ({"mode": "Turbo"}, "spec.mode: 'Turbo' is not one of the values; write Recommend, Initial or Apply"),
        ({"rollout": {"cooldown": "1 d"}}, "spec.rollout.cooldown: '1 d' is not a duration; write it like 45s"),
        ({"rollout": {"cooldown": "9999999999999999h"}}, "spec.rollout.cooldown: '9999999999999999h' is longer than"),
        ({"bounds": {"fetchWait": {"max": "soon"}}}, "spec.bounds.fetchWait.max: 'soon' is not a duration"),
        ({"bounds": {"fetchWait": {"max": "0.5d"}}}, "spec.bounds.fetchWait.max: '0.5d' is not a duration"),
        ({"bounds": {"fetchWait": {"max": "0s"}}}, "spec.bounds.fetchWait.max: must be greater than zero"),
        (
            {"client": {"library": "kafkajs", "current": {"fetchWait": "0.4ms"}}},
            "spec.client.current.fetchWait: must be greater than zero (value: '0.4ms')",
        ),
        (
            {"client": {"library": "kafkaj"}},
            "spec.client.library: client library 'kafkaj' fits no policy; known are aiokafka",
        ),
        ({"workloadRef": {"name": "orders-consumer"}}, "spec.workloadRef.container: this field is required; add it"),
        ({"workloadRef": None}, "spec.workloadRef: it and spec.workloadRefs are both missing; name one workload in"),
        ({"workloadRefs": TWO}, "spec.workloadRef: it and spec.workloadRefs are both set; name one workload in"),
        (
            {"workloadRef": None, "workloadRefs": []},
            "spec.workloadRefs: there are fewer entries than the minimum, 1; add some",
        ),
        (
            {"workloadRef": None, "workloadRefs": TWO * 5},
            "spec.workloadRefs: there are more entries than the maximum, 8; take some out",
        ),
        (
            {"workloadRef": None, "workloadRefs": [*TWO, {**TWO[0], "container": "other"}]},
            "spec.workloadRefs[2]: Deployment orders is named before; name each workload once",
        ),
        (
            {"workloadRef": None, "workloadRefs": TWO, "staticMembership": "Enabled"},
            "spec.staticMembership: Enabled does not fit 2 workloadRefs; set Disabled",
        ),
        (
            {"workloadRef": None, "workloadRefs": TWO, "mode": "Initial"},
            "spec.mode: Initial does not fit 2 workloadRefs; set Recommend or Apply",
        ),
        (window(schedule="0 0 2 * * 1-5"), "spec.rollout.windows.0.schedule: must be five fields, minute hour day"),
        (window(schedule="@daily"), "spec.rollout.windows.0.schedule: must be five fields"),
        (window(schedule="CRON_TZ=UTC 0 2 * * *"), "spec.rollout.windows.0.schedule: must be five fields"),
        (
            window(schedule="60 2 * * *"),
            "spec.rollout.windows.0.schedule: minute 60 is out of range: write 0 to 59, or",
        ),
        (window(schedule="0 24 * * *"), "spec.rollout.windows.0.schedule: hour 24 is out of range: write 0 to 23, or"),
        (window(schedule="0 2 * * 5L"), "spec.rollout.windows.0.schedule: weekday 5L is out of range: write 0 to 7 or"),
        (window(schedule="0 2 */2 * 1"), "spec.rollout.windows.0.schedule: crons differ on a step over all days"),
        (
            window(schedule="0 2 30 2 *"),
            "spec.rollout.windows.0.schedule: never comes (Bad day-of-month): a range must not run backwards",
        ),
        (window(schedule="0 5-2 * * *"), "spec.rollout.windows.0.schedule: never comes (Bad hour)"),
        (
            window(timeZone="Europe/Berlni"),
            "spec.rollout.windows.0.timeZone: names no time zone of the IANA database; must be an IANA time zone",
        ),
        (window(timeZone="Europe"), "spec.rollout.windows.0.timeZone: names no time zone"),
        (window(timeZone="../UTC"), "spec.rollout.windows.0.timeZone: must be an IANA time zone"),
        (window(duration="0s"), "spec.rollout.windows.0.duration: duration must be 1m to 168h (value: '0s')"),
        (window(duration="168h1s"), "spec.rollout.windows.0.duration: duration must be 1m to 168h"),
        (
            {"rollout": {"windows": [WINDOW] * 11}},
            "spec.rollout.windows: there are more entries than the maximum, 10; take some out",
        ),
    ],
)
def test_a_field_that_does_not_fit_is_named(spec: dict[str, Any], sentence: str) -> None:
    """An object stored under an older schema tells what to repair."""
    with pytest.raises(InvalidPolicyError) as caught:
        parsing.policy_of(manifests.policy(spec=spec))
    assert str(caught.value).startswith(sentence)


def test_several_workloads_are_those_of_the_policys_namespace() -> None:
    """In the order of the spec: in that they are written."""
    policy = parsing.policy_of(manifests.policy(spec={"workloadRef": None, "workloadRefs": TWO}))
    assert [(str(ref), ref.container) for ref in policy.workloads] == [
        ("Deployment shop/orders", "app"),
        ("StatefulSet shop/orders", "worker"),
    ]
    assert policy.workload == policy.workloads[0]


def test_a_list_of_one_workload_is_that_workload() -> None:
    """Everything that one may have it may have, too."""
    spec = {"workloadRef": None, "workloadRefs": TWO[:1], "mode": "Initial", "staticMembership": "Enabled"}
    policy = parsing.policy_of(manifests.policy(spec={**spec, "client": {"library": "java"}}))
    assert (str(policy.workload), policy.workloads) == ("Deployment shop/orders", ())


@pytest.mark.parametrize("spoilt", [None, "verdict", "workloads"])
def test_what_was_written_to_each_workload_is_read_of_a_status(spoilt: str | None) -> None:
    """Also of one with a word of another version; a list that cannot be read is none."""
    change = {
        "values": {"sessionTimeout": "30s", "heartbeatInterval": "1s", "fetchWait": "1s"},
        "previous": {"sessionTimeout": "1s", "heartbeatInterval": "333ms", "fetchWait": "5s"},
        "changeTime": "2026-03-01T12:00:00Z",
        "startTime": "2026-03-01T11:00:00Z",
        "workloadUid": "workload-2",
    }
    noted = {"kind": "StatefulSet", "name": "orders", "container": "worker", "applied": change}
    status: dict[str, Any] = {"workloads": [{**noted, "name": "another", "applied": None}, noted]}
    if spoilt is not None:
        status[spoilt] = [{"kind": 5}] if spoilt == "workloads" else {"word": "Sideways"}
    spec = {"workloadRef": None, "workloadRefs": TWO}
    policy = parsing.policy_of(manifests.policy(spec=spec, status=status))
    if spoilt == "workloads":
        assert policy.applications == {}
        return
    (application,) = policy.applications.values()
    assert list(policy.applications) == [policy.workloads[1]]
    assert (application.change, application.at) == (MARCH + timedelta(hours=11), MARCH + timedelta(hours=12))


def test_a_policy_without_spec_is_invalid() -> None:
    """Nothing is assumed of an object that asks for nothing."""
    body = manifests.policy()
    del body["spec"]
    with pytest.raises(InvalidPolicyError, match=r"^spec\.groupId: this field is required"):
        parsing.policy_of(body)


def test_a_long_value_does_not_fill_the_message() -> None:
    """A condition holds 4096 characters, and a person reads fewer."""
    with pytest.raises(InvalidPolicyError) as caught:
        parsing.policy_of(manifests.policy(spec={"mode": "x" * 5_000}))
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    "status",
    [
        {"verdict": "Marvellous"},
        {"conditions": [{"type": "Ready"}]},
        {"applied": {**APPLIED, "changeTime": "2026-03-02T11:00:00"}},  # no zone: no moment
        {"applied": {**APPLIED, "changeTime": "yesterday"}},
        {"applied": {**APPLIED, "values": {**VALUES, "fetchWait": "0s"}}},
        {"applied": {**APPLIED, "values": {**VALUES, "fetchWait": "5 s"}}},
    ],
)
def test_an_unreadable_status_counts_as_empty(status: dict[str, Any]) -> None:
    """The status is ours to write again; it must not keep a sound policy from being looked at."""
    body = manifests.policy(status=status)
    assert parsing.status_of(body) == Status()
    assert parsing.policy_of(body).application is None


def test_a_status_is_read() -> None:
    """What stands is where the next cycle starts."""
    status = parsing.status_of(manifests.policy(status={"verdict": "Healthy", "observedGeneration": 3}))
    assert (status.verdict, status.observed_generation) == (Verdict.HEALTHY, 3)
    assert parsing.status_of(manifests.policy()) == Status()


def test_a_word_of_another_version_does_not_forget_the_last_change() -> None:
    """After a rollback of the operator the cooldown still holds."""
    values = {"sessionTimeout": "30s", "heartbeatInterval": "1s", "fetchWait": "1s"}
    applied = {"values": values, "previous": values, "changeTime": "2026-03-02T12:00:00Z", "workloadUid": "workload-1"}
    status = parsing.status_of({"status": {"reason": "OfTheFuture", "applied": applied}})
    assert status.applied is not None
    assert status.applied.at == "2026-03-02T12:00:00Z"
    assert status.reason is None


def test_a_word_of_another_version_does_not_forget_what_a_person_did() -> None:
    """In an incident the operator is rolled back, and so is the workload: no value may be written to it again."""
    noted = {"observedGeneration": 1, "applied": APPLIED, "writing": {"change": APPLIED, "revision": 3}}
    conditions = [manifests.condition("Ready", "OfTheFuture")]
    policy = parsing.policy_of(manifests.policy(status={"conditions": conditions, **noted}))
    assert policy.intent is not None
    undone = Holdings({}, {}, {}, {}, {}, {}, "workload-1", 5)
    assert taken_back.seen(dataclasses.replace(policy, intent=None), undone, now=worlds.NOW).forbidden is not None


@pytest.mark.parametrize("character", ["\x00", "\n", "\x7f", "\ufffd"])
def test_a_group_id_that_clients_trip_over_is_refused(character: str) -> None:
    """All groups of a request would be refused with it."""
    with pytest.raises(InvalidPolicyError, match="groupId"):
        parsing.policy_of(manifests.policy(spec={"groupId": f"orders{character}"}))


@pytest.mark.parametrize(
    "env",
    [
        {"sessionTimeout": {"name": "X"}, "heartbeatInterval": {"name": "X"}},
        {"fetchWait": {"name": "KAFKA_SESSION_TIMEOUT_MS"}},
    ],
)
def test_one_variable_for_two_settings_is_refused(env: dict[str, Any]) -> None:
    """The heartbeat interval would be written over the session timeout."""
    with pytest.raises(InvalidPolicyError, match="one variable cannot hold two settings"):
        parsing.policy_of(manifests.policy(spec={"client": {"library": "kafkajs", "env": env}}))


@pytest.mark.parametrize(
    "status",
    [
        {},
        {"observedGeneration": 1, "applied": APPLIED},
        {"writing": {"change": APPLIED, "revision": 3}},
        {"takenBack": {"applied": APPLIED, "detectionTime": "2026-03-02T11:30:00Z", "generation": 1}},
        {"contradicted": {"reason": "NoEffect", "message": "so it is", "generation": 1, "template": "t"}},
        {
            "groupProtocol": "Consumer",
            "groupOwnership": {
                "clusterRef": "main",
                "groupId": "orders",
                "workloadUid": "workload-1",
                "proofTime": "2026-03-02T11:00:00Z",
            },
        },
    ],
    ids=lambda status: "-".join(status) or "none",
)
def test_a_newer_status_is_all_that_has_to_be_read_again(status: dict[str, Any]) -> None:
    """While the generation stays, so does the spec; whatever stood in the status before is gone."""
    before = parsing.policy_of(manifests.policy(status={"observedGeneration": 1, "applied": APPLIED}))
    after = manifests.policy(status=status)
    assert parsing.with_status(before, after) == parsing.policy_of(after)
