"""The chain behind a decision, link by link: from what is set to what would be done, each with its numbers.

A `Link` is shown by `explain`; programs get the same, with units. Nothing here decides: what `decision` found is told.
"""

import math
from datetime import timedelta
from typing import Final

import numpy as np

from heartbeat_tuner.cli.group import answer_links
from heartbeat_tuner.cli.group.chain import Link, Row
from heartbeat_tuner.cli.group.forecasts import number
from heartbeat_tuner.cli.group.group_case import Case
from heartbeat_tuner.cli.group.group_options import default, tuned
from heartbeat_tuner.clients.client import Circumstances
from heartbeat_tuner.decision.evictions import expected_evictions
from heartbeat_tuner.decision.optimize import explanation
from heartbeat_tuner.decision.optimize.questions import Question
from heartbeat_tuner.decision.profile import group_profile
from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.evidence import Record
from heartbeat_tuner.domain.liveness import Setting
from heartbeat_tuner.domain.verdicts import headline
from heartbeat_tuner.lint.checked_settings import NAMES
from heartbeat_tuner.metrics.measured import OF_THE_GROUP
from heartbeat_tuner.models.failure_profile import FailureProcess, Profile
from heartbeat_tuner.models.group_model import QuantityModel, Unfitted
from heartbeat_tuner.tails.law import TIMES_S
from heartbeat_tuner.tails.model import TailModel

_FAILURE_PROCESSES: Final = {
    "pauses": "pauses of a member",
    "outages": "outages of network or coordinator",
    "crashes": "crashes",
    "restarts": "restarts",
    "hangs": "hung handlers",
    "slow_handlers": "long gaps between polls",
}
_OF_GROUP: Final = frozenset({"outages"})
_PER_MONTH: Final = 1.0


def chain(case: Case, *, by_options: bool = True) -> list[Link]:
    """Return the links that there is something to say of.

    Args:
        case: the group.
        by_options: whether a person says by options what nothing tells; else a policy does, and the operator answers.
    """
    links = [_settings(case, by_options=by_options), _heartbeat(case), _group(case, by_options=by_options)]
    links += [_record(case), _model(case)]
    if isinstance(case.asked, Question) and case.found is not None:
        explained = explanation.explain(case.asked, case.found)
        links.append(_profile(case, case.asked.profile))
        links += answer_links.links(case, case.asked, case.found, explained)
    if case.weighed:
        links.append(Link("static-ids", "whether static ids pay", sentences=(f"{case.weighed}.",)))
    if not by_options:
        return links
    links.append(
        Link("gates", "what holds a change back", sentences=("None outside a cluster: nothing is written here.",))
    )
    if case.decision is not None:
        decision = case.decision
        sentence = f"{decision.finding.message}{f'. {decision.advice}' if decision.advice else ''}."
        links.append(Link("answer", headline(decision.verdict, decision.finding.reason), sentences=(sentence,)))
    return links


def _settings(case: Case, *, by_options: bool) -> Link:
    current, given = case.stated.current, "as you say" if by_options else "as its policy says"
    rows = [
        Row(
            NAMES[setting],
            value.total_seconds(),
            "s",
            note=f"assumed: {default(setting, case.stated.rebalancing)}" if setting in current.assumed else given,
        )
        for setting, value in tuned(current.settings).items()
    ]
    wait = current.settings.rebalance_timeout
    if wait is not None:
        rows.append(Row(NAMES[Setting.REBALANCE_TIMEOUT], wait.total_seconds(), "s", note="the library's default"))
    return Link("settings", "what is set", tuple(rows))


def _heartbeat(case: Case) -> Link:
    client, settings = case.stated.client, case.stated.current.settings
    circumstances = Circumstances(brokers=case.stated.brokers)
    period = client.period(settings, circumstances)
    rows = (
        Row("usually", period.usual.total_seconds(), "s", note="between two heartbeats"),
        Row("at most", period.longest.total_seconds(), "s", note="pauses of the process come on top"),
        Row("heartbeats in a session", settings.session_timeout / period.usual, ""),
    )
    return Link("heartbeat", "how often a member beats", rows, (f"{client.explain_period(settings, circumstances)}.",))


def _group(case: Case, *, by_options: bool) -> Link:
    group = None if case.inputs is None else case.inputs.group
    members = len(group.members) if group is not None else 0
    partitions = None if group is None else group.partitions
    if not members or not partitions:
        advice = "; say --members and --partitions" if by_options else ""
        why = f"Nothing tells its members and partitions{advice}."
        return Link("group", "who shares the work", sentences=(why,))
    given = "as you say" if by_options else "assumed"
    rows = (
        Row("members", members, "", note=given if case.stated.members else "by the exporter"),
        Row("partitions", partitions, "", note=given if case.stated.partitions else "by the exporter"),
        Row("rebalancing", case.stated.rebalancing.value, ""),
        Row("membership", "static" if case.stated.static else "dynamic", ""),
    )
    assumed = (f"Assumed: {' and '.join(case.assumed)}.",) if case.assumed else ()
    return Link("group", "who shares the work", rows, assumed)


def _record(case: Case) -> Link:
    title = "what happened lately"
    if case.inputs is None or case.seen is None:
        why = "No Prometheus was asked, so nobody knows. Nothing speaks against the values set but the model."
        return Link("record", title, sentences=(why,))
    record = case.inputs.record
    if not isinstance(record, Record):
        return Link("record", title, sentences=(f"Unknown: {record.message}.",))
    rows = [
        Row("watched", record.span.total_seconds(), "s"),
        Row("a heartbeat every", _seconds(record.beat_period), "s", note="accepted by the coordinator"),
        Row("evictions", record.evictions, "", note="of live members that were silent"),
        Row("left for not polling", record.poll_gap_evictions, "", note="live members"),
        Row("rejoins per member", record.rebalances, ""),
        Row("longest silence", _seconds(record.longest_silence), "s", note="that a member survived"),
        Row("longest poll gap", _seconds(record.longest_poll_gap), "s"),
    ]
    if record.rebalancing_share is not None:
        rows.append(Row("time in rebalances", 100 * record.rebalancing_share, "%", note="above 5 % no cost is known"))
    return Link("record", title, tuple(row for row in rows if row.now is not None))


def _model(case: Case) -> Link:
    title, model = "what weeks of history say", case.stated.model
    if isinstance(model, Unfitted):
        return Link("model", title, sentences=(f"No model: {model.message}.",))
    group_model = model.model
    rows = [
        Row("days", group_model.days, "d", note=f"{group_model.since} to {group_model.until}, as {model.name} says")
    ]
    for name, quantity in sorted(group_model.quantities.items()):
        rows += _quantity(name, quantity)
    sentences = (f"It is not used: {case.asked.message}.",) if isinstance(case.asked, Unfitted) else ()
    return Link("model", title, tuple(rows), sentences)


def _quantity(name: str, quantity: QuantityModel) -> list[Row]:
    watched = f"in {number(quantity.group_days)} days, {number(quantity.member_days)} member-days"
    rows = [Row(f"{name}: values", quantity.values, "", note=watched)]
    if quantity.median_s is not None:
        rows.append(Row(f"{name}: usual", quantity.median_s, "s", note="half of them are longer"))
    if quantity.largest_s is not None:
        rows.append(Row(f"{name}: largest", quantity.largest_s, "s"))
    if quantity.rate is not None:
        whose = "day" if name in OF_THE_GROUP else "member-day"
        rows.append(
            Row(f"{name}: rate", quantity.rate.mean, f"a {whose}", note=f"at most {number(quantity.rate.upper)}")
        )
    if quantity.duration is not None:
        rows.append(Row(f"{name}: lasts", math.exp(quantity.duration.mean_log), "s", note="half of them are longer"))
    if isinstance(quantity.tail, TailModel):
        tail = quantity.tail
        law = f"{number(100 * tail.share)} % are longer; shape {tail.shape:.2g}, scale {number(tail.scale_s)} s"
        rows.append(Row(f"{name}: tail from", tail.threshold_s, "s", note=law))
    elif quantity.values:
        rows.append(Row(f"{name}: tail", "none", "", note=str(quantity.tail)))
    rare_s = expected_evictions.needed(quantity, _PER_MONTH)
    if rare_s is not None and math.isfinite(rare_s):
        rows.append(Row(f"{name}: once a month", rare_s, "s", note="is exceeded no more often than that, at 95 %"))
    return rows


def _profile(case: Case, profile: Profile) -> Link:
    session_s = case.stated.current.settings.session_timeout.total_seconds()
    rows = []
    for field, title in _FAILURE_PROCESSES.items():
        failure_process: FailureProcess | None = getattr(profile, field)
        if failure_process is not None and failure_process.per_day > 0:
            whose = "day" if field in _OF_GROUP else "member-day"
            typical = f"half last longer than {number(float(failure_process.law.quantile(0.5)))} s"
            rows.append(
                Row(
                    title, failure_process.per_day, f"a {whose}", note=f"{typical}{_longer(failure_process, session_s)}"
                )
            )
    rows.append(Row("settling", profile.settle_s, "s", note="of a rebalance, once all have joined"))
    model = case.stated.model
    priors = () if isinstance(model, Unfitted) else group_profile.assumed(model.model, surge=profile.surge)
    sentences = (f"Of a fleet, not of this group: {'; '.join(priors)}.",) if priors else ()
    return Link("profile", "what happens to the group", tuple(rows), sentences)


def _longer(failure_process: FailureProcess, session_s: float) -> str:
    """Say how often it outlasts the session."""
    beyond = failure_process.per_day * float(failure_process.law.sf(session_s))
    session = durations.show(timedelta(seconds=session_s))
    most = ""
    if failure_process.upper_per_day is not None:
        upper = float(np.interp(session_s, TIMES_S, failure_process.upper_per_day))
        most = f", at most {number(30 * upper)}"
    return f"; longer than {session}: {number(30 * beyond)} a month{most}"


def _seconds(time: timedelta | None) -> float | None:
    return None if time is None else time.total_seconds()
