"""M of a group of the consumer protocol: it is written into the pods, and what is the group's only at the broker."""

import dataclasses
import functools
from datetime import timedelta
from typing import Any, Final

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.clients import catalogue
from heartbeat_tuner.clients.client import Protocol
from heartbeat_tuner.decision import derived, next_workload, workload_parts
from heartbeat_tuner.decision.at_broker import client_poll_limit, group_bounds
from heartbeat_tuner.decision.input import DecisionInput
from heartbeat_tuner.decision.optimize.questions import Question
from heartbeat_tuner.decision.pipeline import decide
from heartbeat_tuner.domain.evidence import Record
from heartbeat_tuner.domain.kafka_groups import GroupConfig
from heartbeat_tuner.domain.liveness import LivenessSettings, Setting, changed
from heartbeat_tuner.domain.policies import Application, Range, StaticMembership
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.verdicts import Decision, Finding, Verdict
from heartbeat_tuner.domain.verifications import FollowedChange
from heartbeat_tuner.reconcile.applications import application_for
from heartbeat_tuner.reconcile.outcomes import Decided
from tests.golden import cases
from tests.support import documents, worlds
from tests.support.worlds import seconds

CASES: Final = documents.CHECKOUT / "tests" / "golden" / "cases"
OF_CLIENT: Final = (Setting.MAX_POLL_INTERVAL,)


def case(name: str, **changes: Any) -> DecisionInput:
    """Return the input of a case of the golden ones, with whole sections in the place of its own."""
    return cases.input_of({**yaml.safe_load((CASES / f"consumer-protocol-{name}.input.yaml").read_text()), **changes})


def current(inputs: DecisionInput) -> LivenessSettings:
    """Return what is set."""
    assert inputs.workload.current is not None
    return inputs.workload.current.settings


def with_values(inputs: DecisionInput, *, session_s: float, interval_s: float, poll_s: float) -> DecisionInput:
    """Return the same where other values are set, at the broker and in the pods."""
    config = GroupConfig(seconds(session_s), seconds(interval_s))
    group = dataclasses.replace(inputs.group, config=config)
    assert inputs.workload.current is not None
    pods = dataclasses.replace(
        inputs.workload.current,
        settings=dataclasses.replace(current(inputs), max_poll_interval=seconds(poll_s)),
    )
    return dataclasses.replace(
        inputs, group=group, workload=dataclasses.replace(inputs.workload, current=group.prescribed(pods))
    )


def with_record(inputs: DecisionInput, **changes: Any) -> DecisionInput:
    """Return the same with another record."""
    assert isinstance(inputs.record, Record)
    return dataclasses.replace(inputs, record=dataclasses.replace(inputs.record, **changes))


def writes(inputs: DecisionInput, decision: Decision) -> tuple[Setting, ...]:
    """Return which settings a decision writes into pods; none is written at the broker, too."""
    assert decision.to_alter is None
    return () if decision.to_apply is None else changed(current(inputs), decision.to_apply)


def test_what_the_record_shows_of_handlers_is_cured_in_the_pods_alone() -> None:
    """The broker keeps what it has."""
    inputs = case("poll-gaps")
    decision = decide(inputs)
    assert (decision.finding.reason, decision.hold) == (Reason.POLL_GAP_EXCEEDS_LIMIT, None)
    assert writes(inputs, decision) == OF_CLIENT
    assert decision.to_apply is not None
    assert inputs.workload.entries_after(inputs.policy, decision.to_apply) == {"KAFKA_MAX_POLL_INTERVAL_MS": "300000"}


def test_who_is_fenced_too_is_cured_at_the_broker_first_where_that_may_be_written() -> None:
    """It takes no rollout. Where it is refused, or no session fits, M does not wait for it."""
    inputs = case("poll-gaps-and-fenced")
    assert decide(inputs).to_alter is not None
    read_only = dataclasses.replace(inputs, cluster=dataclasses.replace(inputs.cluster, alters_groups=False))
    shared = dataclasses.replace(inputs, peers=(worlds.pod(7),))
    wide = with_values(inputs, session_s=60, interval_s=5, poll_s=6)
    for refused in (read_only, shared, wide):
        assert writes(refused, decide(refused)) == OF_CLIENT


def test_each_of_several_workloads_gets_the_limit_and_nothing_of_the_group() -> None:
    """Their pods' own session is the library's default, and another one than the broker's."""
    inputs = case("poll-gaps", policy=SEVERAL, secondWorkload=SLOW)
    change = application_for(Decided(inputs, decide(inputs)), inputs.now)
    assert change is not None
    assert change.entries == {"KAFKA_MAX_POLL_INTERVAL_MS": "300000"}
    assert len(inputs.workload.parts) == 2
    assert inputs.workload.current is not None


def begun(inputs: DecisionInput, *, session_s: float) -> DecisionInput:
    """Return the same with M in the first of its workloads, whose pods stayed, and a session that somebody set."""
    change = application_for(Decided(inputs, decide(inputs)), inputs.now - timedelta(minutes=9))
    assert change is not None
    (first, part), (second, untouched) = inputs.workload.parts.items()
    assert part.current is not None
    pods = tuple(dataclasses.replace(pod, ready_since=inputs.now - timedelta(minutes=8)) for pod in part.pods)
    cured = dataclasses.replace(
        part,
        current=dataclasses.replace(part.current, settings=change.values),
        applications={first.container: change},
        is_our_template=True,
        pods=pods,
    )
    config = GroupConfig(seconds(session_s), seconds(5))
    group = dataclasses.replace(inputs.group, config=config)
    whole = workload_parts.prescribed(workload_parts.together({first: cured, second: untouched}), group)
    followed = FollowedChange(change.at, landed=change.at)
    policy = dataclasses.replace(inputs.policy, application=change, applications={first: change})
    policy = next_workload.turned(policy, whole, followed, inputs.now)
    return dataclasses.replace(inputs, policy=policy, workload=whole, group=group, followed=followed)


SEVERAL: Final = {
    "client": {"library": "java"},
    "workloadRef": None,
    "workloadRefs": [{"name": name, "container": "app"} for name in ("orders-consumer", "orders-batch")],
}
SLOW: Final = {"set": {"maxPollInterval": "6s"}}


@pytest.mark.parametrize("session_s", [20, 30])
@pytest.mark.parametrize("limits", [{}, {"objective": {"maxDetectionTime": "15s"}}])
def test_the_second_workload_follows_whatever_the_broker_s_session_is(session_s: float, limits: dict[str, Any]) -> None:
    """It is not written, so neither the policy's limits nor a person at the broker keep M from the rest."""
    inputs = begun(case("poll-gaps", policy={**SEVERAL, **limits}, secondWorkload=SLOW), session_s=session_s)
    decision = decide(inputs)
    assert (decision.goes_on, decision.hold) == (True, None)
    change = application_for(Decided(inputs, decision), inputs.now)
    assert change is not None
    assert change.entries == {"KAFKA_MAX_POLL_INTERVAL_MS": "300000"}
    assert changed(change.previous, change.values) == OF_CLIENT


def test_workloads_that_differ_in_what_nobody_reads_are_alike() -> None:
    """One has a session of its own from before the group changed its protocol."""
    left = {"set": {"sessionTimeout": "30s", "maxPollInterval": "6s"}}
    inputs = case("poll-gaps", policy=SEVERAL, workload=left, secondWorkload=SLOW)
    assert decide(inputs).to_apply is not None


def test_equal_bounds_of_the_policy_are_named_where_handlers_need_more() -> None:
    """As the how-to recommends for a limit that is to stay."""
    policy = {"client": {"library": "java"}, "bounds": {"maxPollInterval": {"min": "6s", "max": "6s"}}}
    decision = decide(case("poll-gaps", policy=policy))
    assert (decision.verdict, decision.target) == (Verdict.INFEASIBLE, None)
    assert "bounds.maxPollInterval.max allows at most 6s" in decision.story.message


def test_what_was_written_of_a_session_before_the_group_changed_its_protocol_stays() -> None:
    """A client that starts with it does so today; another value of it would be read by nobody."""
    inputs = case("poll-gaps")
    before = {"KAFKA_SESSION_TIMEOUT_MS": "45000"}
    workload = dataclasses.replace(inputs.workload, kept_env={inputs.policy.workload.container: before})
    target = decide(inputs).to_apply
    assert target is not None
    entries = workload.entries_after(inputs.policy, target)
    assert entries == {**before, "KAFKA_MAX_POLL_INTERVAL_MS": "300000"}


def test_what_a_model_knows_of_handlers_is_written_into_the_pods() -> None:
    """Once nothing that the broker sets is better; the promise is that of these very values."""
    inputs = case("slow-handlers")
    decision = decide(inputs)
    assert (decision.verdict, decision.hold) == (Verdict.CHANGE, None)
    assert writes(inputs, decision) == OF_CLIENT
    assert decision.forecast is not None
    assert decision.forecast.new is not None
    assert decision.forecast.new.evictions_upper < 1.0 < decision.forecast.now.evictions_upper


def test_what_stood_before_our_changes_is_no_measure_there() -> None:
    """S and H may have been changed since at the broker, without a note in the workload."""
    inputs = case("cheaper")
    note = Application(current(inputs), worlds.java_settings("50s"), worlds.NOW, inputs.workload.uid, "app")
    inputs = dataclasses.replace(inputs, policy=dataclasses.replace(inputs.policy, application=note))
    classic = dataclasses.replace(inputs, group=dataclasses.replace(inputs.group, consumer_protocol=False))
    for noted, expected in ((inputs, None), (classic, note.previous)):
        question = derived.question_of(noted, None, current(noted))
        assert isinstance(question, Question)
        assert question.baseline == expected


def test_what_costs_no_rollout_comes_first() -> None:
    """A session that is longer than needed is the broker's: set first, it changes what another M is worth."""
    inputs = with_values(case("slow-handlers"), session_s=45, interval_s=5, poll_s=30)
    decision = decide(inputs)
    assert decision.to_apply is None
    assert decision.to_alter is not None
    assert set(changed(current(inputs), decision.to_alter)) == {Setting.SESSION_TIMEOUT, Setting.HEARTBEAT_INTERVAL}


def test_where_the_broker_may_not_be_written_the_pods_do_not_wait_for_it() -> None:
    """What is recommended there would hold it for ever; it is recommended again afterwards."""
    inputs = with_values(case("slow-handlers"), session_s=45, interval_s=5, poll_s=3)
    assert decide(inputs).to_alter is not None
    read_only = dataclasses.replace(inputs, cluster=dataclasses.replace(inputs.cluster, alters_groups=False))
    assert writes(read_only, decide(read_only)) == OF_CLIENT
    decision = decide(with_values(read_only, session_s=45, interval_s=5, poll_s=10))
    assert decision.hold is not None
    assert (decision.at_broker, decision.hold.reason) == (True, Reason.GROUPS_NOT_ALTERED)


def test_where_only_both_together_are_better_the_pods_come_first() -> None:
    """Neither cures what the other leaves. Then S follows at the broker, asked for by itself."""
    inputs = with_values(case("slow-handlers"), session_s=5.5, interval_s=1, poll_s=4.5)
    decision = decide(inputs)
    assert (decision.verdict, decision.hold, writes(inputs, decision)) == (Verdict.CHANGE, None, OF_CLIENT)
    assert "First maxPollInterval 4.5s → 10s is set in the pods" in decision.story.message
    assert decision.forecast is not None
    assert decision.forecast.new is not None
    assert decision.forecast.new.evictions_upper > 1.0, "what is written now does not meet the objective yet"
    assert decision.to_apply is not None
    cured = with_values(inputs, session_s=5.5, interval_s=1, poll_s=decision.to_apply.by_setting[OF_CLIENT[0]].seconds)
    follows = decide(cured)
    assert follows.to_alter is not None
    assert follows.to_alter.session_timeout > seconds(5.5)


def test_where_the_broker_may_not_be_written_nothing_is_half_done() -> None:
    """M alone does not bring what both together would."""
    inputs = with_values(case("slow-handlers"), session_s=5.5, interval_s=1, poll_s=4.5)
    refused = dataclasses.replace(inputs, cluster=dataclasses.replace(inputs.cluster, alters_groups=False))
    assert decide(refused).target is None
    bound = case("slow-handlers-beyond-a-bound", cluster={"alterGroups": False})
    assert "bounds.maxPollInterval.max allows at most 5s" in decide(bound).story.message


def test_a_member_that_is_about_to_go_starts_no_rollout() -> None:
    """What holds the broker's write for a moment is waited for; pods of another policy hold it for good."""
    inputs = with_values(case("slow-handlers"), session_s=45, interval_s=5, poll_s=3)
    stranger = dataclasses.replace(inputs, strangers=(dataclasses.replace(inputs.group.members[0], host="10.9.9.9"),))
    decision = decide(stranger)
    assert decision.hold is not None
    assert (decision.at_broker, decision.hold.reason) == (True, Reason.GROUP_NOT_OWNED)
    shared = dataclasses.replace(inputs, peers=(worlds.pod(7),))
    assert writes(shared, decide(shared)) == OF_CLIENT


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"policy": {"client": {"library": "java"}, "mode": "Recommend"}}, Reason.RECOMMEND_MODE),
        ({"policy": {"client": {"library": "java"}, "mode": "Initial"}}, Reason.RECOMMEND_MODE),
    ],
)
def test_the_mode_holds_it(changes: dict[str, Any], reason: Reason) -> None:
    """Also Initial: the webhook leaves pods alone whose session is the broker's, and the status says so."""
    decision = decide(case("slow-handlers", **changes))
    assert decision.target is not None
    assert decision.hold is not None
    assert decision.hold.reason is reason


def test_it_is_held_like_any_rollout() -> None:
    """By the answer about M, and not by the one about what the broker sets, which asks for nothing."""
    inputs = case("slow-handlers")
    rolling = dataclasses.replace(inputs, workload=dataclasses.replace(inputs.workload, rolling_out=True))
    longer = with_values(inputs, session_s=20, interval_s=1, poll_s=3_000)
    urgent, dear = (
        dataclasses.replace(each, policy=dataclasses.replace(each.policy, horizon=timedelta(minutes=1)))
        for each in (inputs, longer)
    )
    holds = [decide(each).hold for each in (rolling, urgent, longer, dear)]
    assert [None if hold is None else hold.reason for hold in holds] == [
        Reason.ROLLOUT_IN_PROGRESS,
        None,  # the objective asks for it, whatever that saves
        None,
        Reason.NOT_WORTH_RESTART,
    ]
    assert "Initial" not in str(holds[-1]), "the webhook leaves such pods alone"


@pytest.mark.parametrize("name", ["poll-gaps-beyond-a-bound", "slow-handlers-beyond-a-bound"])
def test_where_the_policy_forbids_it_its_own_bound_is_named(name: str) -> None:
    """Not what is left alone at the broker, and nothing is written."""
    decision = decide(case(name))
    assert (decision.verdict, decision.target) == (Verdict.INFEASIBLE, None)
    assert "bounds.maxPollInterval.max allows at most" in decision.story.message


def test_an_answer_to_all_that_leaves_the_limit_alone_is_the_broker_s() -> None:
    """Whatever it says of S and H: there is nothing to write into pods."""
    inputs = case("slow-handlers")
    now, calm = current(inputs), Decision(Verdict.HEALTHY, Finding(Reason.HEALTHY, "well"))
    session = dataclasses.replace(now, session_timeout=seconds(25))
    answers = [dataclasses.replace(calm, target=target) for target in (None, None, session)]
    asked = (functools.partial(dataclasses.replace, answer) for answer in answers)
    assert client_poll_limit.chosen(inputs.group, now, *asked, may_write=True).target == session


def share_group(inputs: DecisionInput, library: str) -> DecisionInput:
    """Return the same of a share group of a library's consumers."""
    return dataclasses.replace(
        inputs,
        policy=dataclasses.replace(inputs.policy, library=library),
        group=dataclasses.replace(inputs.group, kind=Protocol.SHARE),
        cluster=dataclasses.replace(inputs.cluster, share=inputs.cluster.consumer),
    )


@pytest.mark.parametrize("library", ["java", "confluent-kafka-python"])
def test_the_limit_of_a_share_group_is_cured_in_the_pods(library: str) -> None:
    """Its members join again beside a gap that is longer than their limit."""
    inputs = share_group(case("poll-gaps"), library)
    decision = decide(inputs)
    assert decision.finding.reason is Reason.POLL_GAP_EXCEEDS_LIMIT
    assert writes(inputs, decision) == OF_CLIENT


@pytest.mark.parametrize("library", ["java", "confluent-kafka-python"])
def test_the_limit_of_a_share_group_is_raised_as_a_model_says(library: str) -> None:
    """It knows how far apart members poll."""
    inputs = share_group(case("slow-handlers"), library)
    decision = decide(inputs)
    assert writes(inputs, decision) == OF_CLIENT
    assert decision.to_apply is not None
    before, after = current(inputs).max_poll_interval, decision.to_apply.max_poll_interval
    assert before is not None
    assert after is not None
    assert after > before


@pytest.mark.parametrize(("kind", "is_advised"), [(Protocol.CONSUMER, True), (Protocol.SHARE, False)])
def test_a_share_group_has_no_static_members(*, kind: Protocol, is_advised: bool) -> None:
    """Whatever the library, such as librdkafka, does in other groups."""
    inputs = case("slow-handlers")
    changes: dict[str, Any] = {"library": "confluent-kafka-python", "static_membership": StaticMembership.AUTO}
    policy, group = dataclasses.replace(inputs.policy, **changes), dataclasses.replace(inputs.group, kind=kind)
    decision = decide(dataclasses.replace(inputs, policy=policy, group=group))
    assert (decision.static_ids is not None) is is_advised


@given(
    kind=st.sampled_from(Protocol),
    library=st.sampled_from(["java", "confluent-kafka-python"]),
    least_s=st.none() | st.integers(1, 900),
    most_s=st.none() | st.integers(1, 900),
)
def test_nobody_shortens_the_limit_of_librdkafka_in_a_share_group(
    kind: Protocol, library: str, least_s: int | None, most_s: int | None
) -> None:
    """Its next poll would raise an error. Else the policy's bounds hold, also where they want a shorter limit."""
    inputs = case("poll-gaps")
    client = catalogue.in_group(library, kind)
    limit = current(inputs).max_poll_interval
    assert limit is not None
    own = Range(*(None if each is None else seconds(each) for each in (least_s, most_s)))
    bounds = {Setting.MAX_POLL_INTERVAL: own, Setting.SESSION_TIMEOUT: Range(seconds(6))}
    group = dataclasses.replace(inputs.group, kind=kind)
    found = group_bounds.allowed(group, client, bounds, current(inputs))
    if kind != Protocol.SHARE or library == "java" or (own.max is not None and own.max < limit):
        assert found == bounds
    else:
        least = found[Setting.MAX_POLL_INTERVAL].min
        assert least is not None
        assert least >= limit
        assert found == {**bounds, Setting.MAX_POLL_INTERVAL: Range(least, own.max)}


def test_the_limit_of_kafka_streams_in_a_group_of_its_own_protocol_is_cured_in_the_pods() -> None:
    """A thread that polls late shows lost tasks and a poll gap, as a consumer shows lost partitions and one."""
    inputs = case("poll-gaps")
    inputs = dataclasses.replace(
        inputs,
        policy=dataclasses.replace(inputs.policy, library="streams"),
        group=dataclasses.replace(inputs.group, kind=Protocol.STREAMS),
    )
    decision = decide(inputs)
    assert decision.finding.reason is Reason.POLL_GAP_EXCEEDS_LIMIT
    assert writes(inputs, decision) == OF_CLIENT


def test_without_the_group_s_configuration_nothing_is_asked_apart() -> None:
    """From metrics alone people are advised on all of it."""
    inputs = case("slow-handlers")
    unread = dataclasses.replace(inputs.group, config=None)
    assert not group_bounds.poll_limit_is_clients(unread)
    assert group_bounds.fixed(unread, group_bounds.OF_CLIENT) == frozenset()


@given(
    session_s=st.integers(6, 60),
    interval_s=st.integers(1, 15),
    poll_s=st.integers(1, 600),
    evictions=st.integers(0, 9),
    late=st.integers(0, 9),
    gap_s=st.floats(0.1, 900.0),
    most_s=st.none() | st.integers(1, 600),
)
def test_each_value_is_written_where_it_belongs(
    session_s: int, interval_s: int, poll_s: int, evictions: int, late: int, gap_s: float, most_s: int | None
) -> None:
    """Pods never get a session or an interval, at which some clients refuse to start; the broker never gets M."""
    inputs = with_values(case("slow-handlers"), session_s=session_s, interval_s=interval_s, poll_s=poll_s)
    inputs = with_record(
        inputs, evictions=evictions, poll_gap_evictions=late, longest_poll_gap=timedelta(seconds=gap_s)
    )
    bounds = {Setting.MAX_POLL_INTERVAL: Range(None, None if most_s is None else seconds(most_s))}
    inputs = dataclasses.replace(inputs, policy=dataclasses.replace(inputs.policy, bounds=bounds))
    decision = decide(inputs)
    if decision.to_apply is not None:
        assert changed(current(inputs), decision.to_apply) == OF_CLIENT
    if decision.to_alter is not None:
        assert Setting.MAX_POLL_INTERVAL not in changed(current(inputs), decision.to_alter)
