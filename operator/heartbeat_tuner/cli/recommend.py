"""`heartbeat-tuner recommend`: what the operator would set for one group, and why.

`group_case` gathers and decides; here is one table of it. What cannot be measured is unknown, with the fix that
`doctor` has for it.
"""

from datetime import timedelta
from typing import Any

import click

from heartbeat_tuner.cli.doctor import as_document, finding_text, fix_object
from heartbeat_tuner.cli.group import group_case, group_options
from heartbeat_tuner.cli.group.forecasts import forecast_object, forecast_rows
from heartbeat_tuner.cli.group.group_case import Case
from heartbeat_tuner.cli.group.group_options import broker_key, default, tuned
from heartbeat_tuner.cli.group.option_values import option
from heartbeat_tuner.cli.wording import shown, table, wrapped
from heartbeat_tuner.decision import from_metrics
from heartbeat_tuner.decision.from_metrics import MetricsView
from heartbeat_tuner.decision.optimize.questions import CONSUMER_INTERVAL
from heartbeat_tuner.doctor.findings import DoctorSeverity
from heartbeat_tuner.domain import durations, liveness
from heartbeat_tuner.domain.evidence import Record, Unknown
from heartbeat_tuner.domain.kafka_groups import Cluster
from heartbeat_tuner.domain.liveness import Setting
from heartbeat_tuner.domain.policies import Range
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.verdicts import Decision, Verdict, headline
from heartbeat_tuner.lint.checked_settings import NAMES
from heartbeat_tuner.models.failure_profile import Rebalancing
from heartbeat_tuner.models.group_model import Unfitted

_NO_VALUES = frozenset({Verdict.UNKNOWN, Verdict.INFEASIBLE})
_ADVISED_BY_NOTES = frozenset({Reason.SETTING_ASSUMED, Reason.SETTINGS_NOT_IN_FORCE})  # not by a policy's fields


@click.command("recommend", short_help="Recommend values for one group, with reasons.")
@group_options.options
def command(*, output: str, **given: Any) -> None:
    """Recommend values for one consumer group, with reasons.

    Evidence comes from a Prometheus, from a fitted model, or from both. The command needs no cluster and changes
    nothing. Give the current settings, or it assumes the library's defaults.

    Exit status: 0 if there is an answer, 1 if it is unknown, 2 if the command line or Prometheus cannot be used.
    """
    wanted = group_options.wanted(**given)
    case = group_case.gather(wanted)
    text = as_text(case) if output == "text" else as_document(document(case), output)
    click.echo(text, nl=False)
    if not case.is_known:
        raise click.exceptions.Exit(1)


def as_text(case: Case) -> str:
    """Return what was measured, one table of settings, and why; of what is unknown, what is missing."""
    blocks = []
    if case.inputs is not None and case.decision is not None:
        blocks += _told(case, case.inputs.record, case.decision)
    blocks += missing_text(case)
    if not case.is_known:
        looked = "" if case.seen is None else f" (looked back {durations.show(case.seen.lookback)})"
        blocks.append(f"Nothing is recommended{looked}.")
    return "\n\n".join(blocks) + "\n"


def missing_text(case: Case) -> list[str]:
    """Return what is missing to measure the group, and how to get it."""
    missing = [finding for finding in case.findings if finding.severity is not DoctorSeverity.INFO]
    return ["\n".join(finding_text([doctor_finding])) for doctor_finding in missing]


def document(case: Case) -> dict[str, Any]:
    """Return the same as plain values."""
    fields: dict[str, Any] = {"verdict": Verdict.UNKNOWN.value}
    if case.inputs is not None and case.decision is not None:
        facts, decision = case.stated, case.decision
        target, now = decision.target, facts.current
        fields = {
            "verdict": decision.verdict.value,
            "reason": decision.finding.reason.value,
            "message": decision.finding.message,
            "advice": decision.advice,
            "namespace": facts.namespace,
            "group": facts.group,
            "client": facts.client.name,
            "convention": None if case.seen is None else case.seen.convention.name,
            "pods": sorted(pod.name for pod in case.inputs.workload.pods),
            "members": len(case.inputs.group.members) or None,
            "partitions": case.inputs.group.partitions,
            "measured": None if case.seen is None else _measured_object(case.seen, case.inputs.record),
            "model": model_object(case),
            "forecast": forecast_object(case),
            "staticIds": static_ids_object(case),
            "settings": {
                setting.value: {
                    "nowMilliseconds": durations.to_ms(value),
                    "assumed": setting in now.assumed,
                    "recommendedMilliseconds": None if target is None else durations.to_ms(target[setting]),
                }
                for setting, value in tuned(now.settings).items()
            },
            "notes": notes(case),
        }
    return {**fields, "missing": missing_object(case)}


def missing_object(case: Case) -> list[dict[str, Any]]:
    """Return what is missing, as plain values."""
    missing = [finding for finding in case.findings if finding.severity is not DoctorSeverity.INFO]
    return [
        {"id": doctor_finding.id, "message": doctor_finding.message, "fix": fix_object(doctor_finding.fix)}
        for doctor_finding in missing
    ]


def model_object(case: Case) -> dict[str, Any]:
    """Return which model was used, or why none was."""
    model = case.stated.model
    if isinstance(model, Unfitted):
        return {"name": None, "message": model.message}
    group_model = model.model
    return {
        "name": model.name,
        "cluster": group_model.cluster,
        "days": group_model.days,
        "since": group_model.since.isoformat(),
        "until": group_model.until.isoformat(),
        "message": case.asked.message if isinstance(case.asked, Unfitted) else "",
    }


def static_ids_object(case: Case) -> dict[str, Any] | None:
    """Return whether members should have static ids."""
    advice = case.static_ids
    return None if advice is None else {"worth": advice.worth.value, "message": advice.message}


def title(case: Case) -> str:
    """Return which group this is, and how it is known; empty if nothing could be read of it."""
    facts, inputs = case.stated, case.inputs
    if inputs is None:
        return ""
    pods, group = len(inputs.workload.pods), inputs.group
    if case.seen is None:
        how = f"{len(group.members)} members, {group.partitions} partitions, by its model alone"
    else:
        how = f"{pods} pod{'' if pods == 1 else 's'}, measured by {case.seen.convention.title}"
    place = f" ({shown(facts.namespace)})" if facts.namespace else ""
    return wrapped(f"{shown(facts.group)}{place}: {facts.client.title}, {how}", "", "  ")


def _told(case: Case, record: Record | Unknown, decision: Decision) -> list[str]:
    blocks = [title(case)]
    if case.seen is not None and isinstance(record, Record):
        blocks.append("\n".join(["measured", *table(measured(case.seen, record), "  ")]))
    if isinstance(record, Record) or case.found is not None:
        blocks.append("\n".join(_table(case, decision)))
    advice = "" if decision.finding.reason in _ADVISED_BY_NOTES else decision.advice
    message = f"{decision.finding.message}{f'. {advice}' if advice else ''}."
    blocks.append("\n".join([headline(decision.verdict, decision.finding.reason), wrapped(harmless(message), "  ")]))
    if case.weighed:
        blocks.append(wrapped(f"Advice: {harmless(case.weighed)}.", "", "  "))
    blocks += [wrapped(f"Note: {harmless(note)}", "", "  ") for note in notes(case)]
    return blocks


def measured(seen: MetricsView, record: Record) -> list[tuple[str, str]]:
    """Return what was measured, beside what the settings give, as lines."""
    period = from_metrics.expected(seen)
    given = " to ".join(dict.fromkeys(map(durations.show, (period.shortest, period.longest))))
    none = "too few were counted" if record.accepted_beats else "none was accepted"
    beat = none if record.beat_period is None else durations.about(record.beat_period)
    rows = [
        ("for", durations.show(timedelta(seconds=round(record.span.total_seconds())))),
        ("a heartbeat every", f"{beat}; by the settings, {given}"),
        ("evictions", f"{record.evictions} of live members"),
        ("rejoins", f"{record.rebalances:.3g} per member"),
        ("time in rebalances", "-" if record.rebalancing_share is None else f"{record.rebalancing_share:.1%}"),
    ]
    if record.longest_silence is not None:
        rows.append(("longest silence", durations.about(record.longest_silence)))
    if seen.stated.current.settings.max_poll_interval is not None:
        gap = "-" if record.longest_poll_gap is None else durations.about(record.longest_poll_gap)
        rows.append(("longest poll gap", gap))
        rows.append(("left for not polling", f"{record.poll_gap_evictions} times"))
    return rows


def _measured_object(seen: MetricsView, record: Record | Unknown) -> dict[str, Any] | None:
    if not isinstance(record, Record):
        return None
    period = from_metrics.expected(seen)
    return {
        "since": record.since.isoformat(),
        "until": record.until.isoformat(),
        "beatPeriodSeconds": _seconds(record.beat_period),
        "expectedBeatPeriodSeconds": {"shortest": _seconds(period.shortest), "longest": _seconds(period.longest)},
        "acceptedBeats": record.accepted_beats,
        "evictions": record.evictions,
        "pollGapEvictions": record.poll_gap_evictions,
        "rebalancesPerMember": record.rebalances,
        "rebalancingShare": record.rebalancing_share,
        "longestSilenceSeconds": _seconds(record.longest_silence),
        "longestPollGapSeconds": _seconds(record.longest_poll_gap),
    }


def _table(case: Case, decision: Decision) -> list[str]:
    current, target = case.stated.current, decision.target
    now = current.settings
    moved = () if target is None else liveness.changed(now, target)
    rows = [("setting", "now", "recommended", "reason")]
    for setting, value in tuned(now).items():
        assumed = " (assumed)" if setting in current.assumed else ""
        sentence = f"{durations.show(value)}{assumed}"
        if decision.verdict in _NO_VALUES:
            rows.append((NAMES[setting], sentence, "-", decision.finding.reason.value))
        elif target is None or setting not in moved:
            rows.append((NAMES[setting], sentence, durations.show(value), "as it is"))
        else:
            rows.append((NAMES[setting], sentence, durations.show(target[setting]), decision.finding.reason.value))
    return table([*rows, *forecast_rows(case)], "")


def notes(case: Case) -> list[str]:
    """Return what the answer rests on that nobody measured, and what would make it better."""
    inputs, current = case.inputs, case.stated.current
    known = inputs is not None and (isinstance(inputs.record, Record) or case.found is not None)
    if inputs is None or not known:
        return [] if case.seen is None else _model_notes(case)
    notes = [f"{case.inferred}."] if case.inferred else []
    if why := _otherwise(case, inputs.record):
        notes.append(
            f"the members do not beat as these settings say: {why}; say which with "
            f"{', '.join(map(option, tuned(current.settings)))}."
        )
    if current.assumed:
        notes.append(
            f"{_whose_defaults(case)}, and the answer rests on that; say what is set with "
            f"{', '.join(map(option, current.assumed))}."
        )
    notes += _model_notes(case)
    notes.append(
        f"no broker was asked: {_broker_bounds(case, inputs.cluster)}, and its brokers to be {inputs.cluster.brokers}."
    )
    return notes


def _whose_defaults(case: Case) -> str:
    settings_by_default: dict[str, list[str]] = {}
    for setting in case.stated.current.assumed:
        settings_by_default.setdefault(default(setting, case.stated.rebalancing), []).append(NAMES[setting])
    return "; ".join(f"{whose} is assumed for {', '.join(names)}" for whose, names in settings_by_default.items())


def _broker_bounds(case: Case, cluster: Cluster) -> str:
    names, bounds = "session timeouts", _shown(Range(cluster.min_session_timeout, cluster.max_session_timeout))
    if case.stated.rebalancing is Rebalancing.CONSUMER:
        names, bounds = f"{names} and heartbeat intervals", f"{bounds}, and {_shown(CONSUMER_INTERVAL)}"
    return f"its bounds for {names} are assumed to be Kafka's defaults ({bounds})"


def _shown(bounds: Range) -> str:
    return " to ".join(durations.show(limit) for limit in (bounds.min, bounds.max) if limit is not None)


def _model_notes(case: Case) -> list[str]:
    """Return what a model says nothing of, or how to get one."""
    if isinstance(case.stated.model, Unfitted):
        return [f"no model: {case.stated.model.message}. Without one nobody knows what rare delays cost."]
    if isinstance(case.asked, Unfitted):
        return [f"the model is not used: {case.asked.message}; say --members and --partitions."]
    model_notes = [f"assumed of the group: {' and '.join(case.assumed)}."] if case.assumed else []
    if case.stated.rebalancing is Rebalancing.CONSUMER:
        session = broker_key(case.stated.kind, Setting.SESSION_TIMEOUT)
        interval = broker_key(case.stated.kind, Setting.HEARTBEAT_INTERVAL)
        model_notes.append(
            f"in a group of the {session.partition('.')[0]} protocol the session and the heartbeat are the broker's: "
            f"set {session} and {interval} of the group."
        )
    if case.found is not None and case.found.wait_for_restart:
        model_notes.append("the change does not pay for a rollout of its own: make it with the next deploy.")
    if case.found is not None and case.found.only_recommend:
        model_notes.append("the operator would only recommend it yet: it writes from 7 days of history on.")
    return model_notes


def _otherwise(case: Case, record: Record | Unknown) -> str:
    return from_metrics.otherwise(case.seen, record) if case.seen is not None and isinstance(record, Record) else ""


def harmless(message: str) -> str:
    """Return a sentence in which a group's name, or a pod's, may stand."""
    return shown(message, 4096)


def _seconds(time: timedelta | None) -> float | None:
    return None if time is None else round(time.total_seconds(), 3)
