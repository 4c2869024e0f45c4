"""B4: a model alone shortens nothing; the group's own record has to agree, and one step at most halves a timeout."""

import dataclasses
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heartbeat_tuner.api import model_documents
from heartbeat_tuner.decision.gates import record_consent
from heartbeat_tuner.decision.input import DecisionInput
from heartbeat_tuner.decision.pipeline import decide
from heartbeat_tuner.domain.evidence import Record, Unknown
from heartbeat_tuner.domain.liveness import LivenessSettings
from heartbeat_tuner.domain.policies import Objective
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.verdicts import Verdict
from heartbeat_tuner.metrics.measured import ABSENCE, CRASH_DOWNTIME, POLL_GAP, RESTART_DOWNTIME
from heartbeat_tuner.models.group_model import Fitted
from heartbeat_tuner.tails.rates import Duration, Rate
from tests.support import fitted, worlds
from tests.support.pipelines import refusal
from tests.support.tuned import known
from tests.support.worlds import NOW, seconds


def recorded(inputs: DecisionInput, **changes: Any) -> DecisionInput:
    """Return a situation whose record differs."""
    assert isinstance(inputs.record, Record)
    return dataclasses.replace(inputs, record=dataclasses.replace(inputs.record, **changes))


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"longest_silence": seconds(40)}, "after a silence of 40 s"),
        ({"longest_silence": None}, "no time between two heartbeats was measured"),
        ({"beat_period": None}, "no time between two heartbeats was measured"),
        ({"until": NOW - timedelta(minutes=6)}, "more than 5m ago"),
    ],
)
def test_a_record_that_does_not_agree_leaves_the_session(changes: dict[str, Any], why: str) -> None:
    """The same model with a record that agrees halves it."""
    agreed = decide(known())
    assert agreed.target is not None
    assert agreed.target.session_timeout == seconds(23)
    decision = decide(recorded(known(), **changes))
    assert (decision.verdict, decision.target, decision.to_apply) == (Verdict.HEALTHY, None, None)
    assert why in decision.advice
    assert decision.forecast is not None
    assert decision.forecast.new is None


@pytest.mark.parametrize(
    ("gap", "why"),
    [(None, "no gap between two polls was measured"), (seconds(800), "took 800 s between two polls")],
)
def test_a_record_that_does_not_agree_leaves_the_poll_limit(gap: timedelta | None, why: str) -> None:
    """Its own clock has to have shown that handlers are shorter."""
    patient = known(worlds.java_settings("10s", "1s", "30m"))
    target = worlds.java_settings("10s", "1s", "15m")
    inputs = recorded(patient, longest_poll_gap=gap)
    assert why in refusal(inputs, target)
    assert not refusal(patient, target)


def test_longer_timeouts_need_no_consent() -> None:
    """They cut nothing off that the record shows."""
    inputs = recorded(known(), longest_silence=None)
    assert not refusal(inputs, worlds.java_settings("60s", "3s", "5m"))


@pytest.mark.parametrize(
    ("changes", "held"),
    [
        ({"since": NOW - timedelta(minutes=20)}, "the group's own record is 1200 s long"),
        ({"evictions": 1}, "live members were removed in the last hour (1)"),
        ({"poll_gap_evictions": 2}, "live members were removed in the last hour (2)"),
    ],
)
def test_a_record_that_does_not_back_it_yet_holds_the_write(changes: dict[str, Any], held: str) -> None:
    """The recommendation stays: it must not come and go with each eviction."""
    inputs = recorded(known(), **changes)
    decision = decide(inputs)
    assert decision.target == decide(known()).target
    assert decision.hold is not None
    assert decision.hold.reason is Reason.TOO_LITTLE_DATA
    assert held in decision.hold.message


def test_what_needs_no_record_is_not_held() -> None:
    """Longer timeouts, or where there is none."""
    inputs = recorded(known(), since=NOW - timedelta(minutes=20))
    target = decide(inputs).target
    assert inputs.workload.current is not None
    assert target is not None
    now, longer = inputs.workload.current.settings, worlds.java_settings("60s", "3s", "5m")
    assert record_consent.hold(inputs.record, now, target) is not None
    assert record_consent.hold(inputs.record, now, now) is None
    assert record_consent.hold(inputs.record, now, longer) is None
    assert record_consent.hold(Unknown(Reason.METRICS_STALE, "no sample"), now, target) is None


share = st.floats(1e-12, 1.0)
tails = st.fixed_dictionaries(
    {
        "thresholdSeconds": st.floats(1e-3, 1e4),
        "share": share,
        "shareLogSd": st.floats(0.0, 3.0),
        "shape": st.floats(-1.0, 0.99),
        "logScale": st.floats(-16.0, 16.0),
        "covariance": st.builds(
            lambda shape, other, part: {
                "shape": shape,
                "logScale": other,
                "shapeLogScale": 0.9 * part * (shape * other) ** 0.5,
            },
            st.floats(1e-6, 4.0),
            st.floats(1e-6, 4.0),
            st.floats(-1.0, 1.0),
        ),
        "fraction": share,
        "source": st.sampled_from(["Own", "Fleet"]),
        "samples": st.floats(0.0, 1e15),
        "exceedances": st.floats(0.0, 1e15),
        "largestSeconds": st.floats(0.0, 1e6),
        "andersonDarling": st.floats(0.0, 1e3),
        "distance": st.floats(0.0, 1.0),
    }
)
pools = st.builds(
    lambda days, rates, spread: {
        "days": days,
        "groups": 5,
        "timesSeconds": [3.0 * 2**number for number in range(len(rates))],
        "perDay": sorted(rates, reverse=True),
        "spreads": [spread] * len(rates),
    },
    st.floats(1e-3, 1e15),
    st.lists(st.floats(1e-12, 1e6), min_size=1, max_size=8),
    st.floats(1e-3, 1e3),
)


def quantities(name: str) -> st.SearchStrategy[dict[str, Any]]:
    """Return what an object may say of a quantity."""
    return st.builds(
        lambda fields, tail, pool, rate, lasts: {
            **fields,
            "name": name,
            "tail": tail,
            **({} if pool is None else {"pool": pool}),
            **({} if rate is None else {"rate": {"mean": min(rate), "upper": max(rate)}}),
            **({} if lasts is None else {"duration": lasts}),
        },
        st.fixed_dictionaries(
            {
                "values": st.integers(0, 10**15),
                "memberDays": st.floats(0.0, 1e5),
                "groupDays": st.floats(0.0, 15.0),
                "largestSeconds": st.floats(0.0, 1e6),
                "medianSeconds": st.floats(0.0, 1e6),
            }
        ),
        tails,
        st.none() | pools,
        st.none() | st.tuples(st.floats(1e-9, 1e3), st.floats(1e-9, 1e3)),
        st.none()
        | st.fixed_dictionaries(
            {"meanLog": st.floats(-8.0, 15.0), "sdLog": st.floats(1e-6, 8.0), "worth": st.floats(1e-6, 1e15)}
        ),
    )


documents = st.builds(
    lambda several: {
        "apiVersion": "heartbeat-tuner.dev/v1alpha1",
        "kind": "ConsumerGroupModel",
        "metadata": {"namespace": "shop", "name": "orders"},
        "spec": {
            "groupId": "orders",
            "client": "java",
            "histogramSchema": 1,
            "since": "2026-02-16",
            "until": "2026-03-01",
            "days": 14,
            "fitTime": "2026-03-02T02:00:00Z",
            "job": "by hand",
            "fitted": 1,
            "rejected": 0,
            "quantities": several,
        },
    },
    st.tuples(*(quantities(name) for name in (ABSENCE, POLL_GAP, CRASH_DOWNTIME, RESTART_DOWNTIME))).map(list),
)


@settings(max_examples=40, deadline=None)
@given(documents, st.sampled_from([45, 10, 300]), st.floats(0.5, 60.0), st.sampled_from([5, 60]))
def test_no_model_shortens_more_than_by_half_or_below_what_was_seen(
    document: dict[str, Any], session_s: int, silence_s: float, limit_m: int
) -> None:
    """Whatever an object of the CRD's whole range says of a healthy group."""
    model = model_documents.model_of(document)
    now = worlds.java_settings(f"{session_s}s", "3s", f"{limit_m}m")
    inputs = recorded(
        dataclasses.replace(known(now, objective=Objective(timedelta(minutes=20), 1.0)), model=Fitted("orders", model)),
        longest_silence=seconds(silence_s),
    )
    decision = decide(inputs)
    target = decision.target or now
    assert target.session_timeout >= min(now.session_timeout, now.session_timeout / 2)
    if target.session_timeout < now.session_timeout:
        assert target.session_timeout >= seconds(silence_s)
    assert target.max_poll_interval is not None
    assert now.max_poll_interval is not None
    assert target.max_poll_interval >= now.max_poll_interval / 2
    blind = decide(recorded(inputs, longest_silence=None))
    assert (blind.target or now).session_timeout >= now.session_timeout


def test_a_forged_model_gets_a_healthy_group_to_half_in_a_step() -> None:
    """One that says that nothing ever is late and that members crash all day, as it was done."""
    absences = fitted.quantity(largest_s=0.1, tail=fitted.tail(threshold_s=0.05, share=1e-6, largest_s=0.1))
    crashes = fitted.quantity(values=200, rate=Rate(5.0, 6.0), duration=Duration(3.0, 0.4, 8.0))
    forged = fitted.fitted(client="java", quantities={ABSENCE: absences, CRASH_DOWNTIME: crashes})
    settings: LivenessSettings = worlds.java_settings()
    decision = decide(dataclasses.replace(known(settings), model=forged))
    assert decision.target is not None
    assert decision.target.session_timeout >= settings.session_timeout / 2
    near = recorded(dataclasses.replace(known(settings), model=forged), longest_silence=seconds(30))
    assert decide(near).target is None
