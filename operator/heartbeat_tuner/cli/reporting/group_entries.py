"""From a group as the command line knows it to its values on the page.

Where the operator has decided, its status goes first: it has asked the broker and the cluster. Curves and the chain of
reasons are computed here. Every text is made harmless: none of it can steer a terminal or a page.
"""

from datetime import datetime
from typing import Any, TypeVar

from heartbeat_tuner.api import applied
from heartbeat_tuner.cli.group import chain, chain_links
from heartbeat_tuner.cli.group.group_options import tuned
from heartbeat_tuner.cli.reporting import metric_timelines, model_curves, policy_entries
from heartbeat_tuner.cli.reporting.fleet_members import FleetMember
from heartbeat_tuner.cli.reporting.snippets import snippets
from heartbeat_tuner.cli.wording import listed, sentence, shown
from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.evidence import Record
from heartbeat_tuner.domain.liveness import LivenessSettings
from heartbeat_tuner.domain.verdicts import Prediction, Verdict, headline
from heartbeat_tuner.lint.checked_settings import NAMES
from heartbeat_tuner.models.group_model import Unfitted
from heartbeat_tuner.report.plotted_data import Entry, TimelineEntry
from heartbeat_tuner.report.report_data import (
    ExpectedEntry,
    ForecastEntry,
    GroupEntry,
    LinkEntry,
    NumberEntry,
    RecordEntry,
    SettingEntry,
)

LONGEST_TEXT = 4_096

_E = TypeVar("_E", bound=Entry)


def group_entry(member: FleetMember) -> GroupEntry:
    """Return what tables show of one group, and its changes; `detailed` has the rest."""
    case, view = member.case, member.view
    facts, status = case.stated, None if view is None else view.status
    verdict, reason, message = _answer(member)
    return GroupEntry(
        namespace=facts.namespace,
        group=facts.group,
        cluster=member.cluster,
        client=sentence(facts.client.title, facts.client).removesuffix("."),
        verdict=verdict,
        reason=reason,
        message=message,
        mode="" if view is None else view.policy.mode.value,
        allowed_per_month=facts.objective.max_false_evictions_per_month,
        settings=_settings(member, _target(member)),
        forecast=_forecast(member),
        record=_record(case.inputs.record if case.inputs is not None else None),
        changes=() if view is None else policy_entries.changes(view),
        notes=_notes(member, from_status=status is not None and status.verdict is not None),
    )


def detailed(entry: GroupEntry, member: FleetMember, now: datetime) -> GroupEntry:
    """Return an entry with its figures, reasons and snippets, which take a tenth of a second of a processor.

    Args:
        entry: what tables show of the group.
        member: the group.
        now: when the report is made.
    """
    return entry.model_copy(
        update={
            "survival": model_curves.survival(member.case),
            "costs": model_curves.costs(member.case),
            "timelines": _timelines(member, now),
            "links": _links(member),
            "snippets": snippets(member, _target(member)),
        }
    )


def harmless(entry: _E) -> _E:
    """Return an entry whose texts have nothing in them that is not printable, and an end."""
    return type(entry).model_validate(_harmless(entry.model_dump()))


def _harmless(value: Any) -> Any:
    if isinstance(value, str):
        return "\n".join(shown(line, LONGEST_TEXT) for line in value.split("\n"))
    if isinstance(value, dict):
        return {name: _harmless(part) for name, part in value.items()}
    return tuple(_harmless(part) for part in value) if isinstance(value, (list, tuple)) else value


def _answer(member: FleetMember) -> tuple[str, str, str]:
    """Return verdict, reason and sentence: the operator's where it has decided."""
    view, decision = member.view, member.case.decision
    if view is not None and view.status.verdict is not None:
        reason = "" if view.status.reason is None else view.status.reason.value
        messages = {condition.type.value: condition.message for condition in view.status.conditions}
        words = messages.get("Recommended", "") or messages.get("Ready", "")
        return view.status.verdict.value, reason, _stopped(words)
    if decision is None:
        return Verdict.UNKNOWN.value, "", "Nothing could be read of the group."
    advice = f". {decision.advice}" if decision.advice else ""
    return decision.verdict.value, decision.finding.reason.value, _stopped(f"{decision.finding.message}{advice}")


def _stopped(words: str) -> str:
    """Return words as a sentence: it begins with a capital and ends with a stop."""
    end = "." if words and not words.endswith((".", "?")) else ""
    return f"{words[:1].upper()}{words[1:]}{end}"


def _target(member: FleetMember) -> LivenessSettings | None:
    view, decision = member.view, member.case.decision
    if view is not None and view.status.verdict is not None:
        recommended = view.status.recommendation
        return None if recommended is None else applied.settings_of(recommended.target)
    return None if decision is None else decision.target


def _settings(member: FleetMember, target: LivenessSettings | None) -> tuple[SettingEntry, ...]:
    current = member.case.stated.current
    new = {} if target is None else target.by_setting
    return tuple(
        SettingEntry(
            name=NAMES[setting],
            key=setting.value,
            now_ms=durations.to_ms(value),
            assumed=setting in current.assumed,
            recommended_ms=durations.to_ms(new[setting]) if setting in new else None,
        )
        for setting, value in tuned(current.settings).items()
    )


def _forecast(member: FleetMember) -> ForecastEntry | None:
    by_status = None if member.view is None else policy_entries.forecast(member.view)
    if by_status is not None:
        return by_status
    forecast = None if member.case.decision is None else member.case.decision.forecast
    if forecast is None:
        return None
    recommended = None if forecast.new is None else _expected(forecast.new)
    return ForecastEntry(now=_expected(forecast.now), recommended=recommended, confidence=forecast.confidence.value)


def _expected(prediction: Prediction) -> ExpectedEntry:
    return ExpectedEntry(
        evictions_per_month=prediction.evictions_per_month,
        evictions_at_most=prediction.evictions_upper,
        stalled_per_day=prediction.net_per_day,
        detection_s=prediction.detection_s,
    )


def _record(record: object) -> RecordEntry | None:
    if not isinstance(record, Record):
        return None
    return RecordEntry(
        since_s=record.since.timestamp(),
        until_s=record.until.timestamp(),
        evictions=record.evictions,
        poll_gap_evictions=record.poll_gap_evictions,
        rebalancing_share=record.rebalancing_share,
    )


def _timelines(member: FleetMember, now: datetime) -> tuple[TimelineEntry, ...]:
    view, seen = member.view, member.case.seen
    drawn = (
        None if seen is None else metric_timelines.timeline(seen, () if view is None else policy_entries.marks(view)),
        None if view is None else policy_entries.timeline(view, now),
    )
    return tuple(entry for entry in drawn if entry is not None)


def _links(member: FleetMember) -> tuple[LinkEntry, ...]:
    """Return the chain of reasons, and what the operator says of the group's policy.

    Of a group of which only a policy is known nothing is computed here.
    """
    case, view = member.case, member.view
    links: list[LinkEntry] = []
    if case.seen is not None or not isinstance(case.stated.model, Unfitted):
        links = [_link(link) for link in chain_links.chain(case, by_options=False)]
    if view is not None and view.status.conditions:
        sentences = tuple(
            f"{condition.type.value} is {condition.status.value} ({condition.reason.value}): {condition.message}"
            for condition in view.status.conditions
        )
        links.append(LinkEntry(title="what the operator says", sentences=sentences))
    elif links and case.decision is not None:
        verdict, reason, message = _answer(member)
        links.append(LinkEntry(title=headline(verdict, reason), sentences=(message,)))
    return tuple(links)


def _link(link: chain.Link) -> LinkEntry:
    numbers = tuple(
        NumberEntry(
            name=row.name,
            now=chain.with_unit(row.now, row.unit),
            recommended="" if row.then is None else chain.with_unit(row.then, row.unit),
            note=row.note,
        )
        for row in link.rows
    )
    return LinkEntry(title=link.title, numbers=numbers, sentences=link.sentences)


def _notes(member: FleetMember, *, from_status: bool) -> tuple[str, ...]:
    case, notes = member.case, []
    if isinstance(case.stated.model, Unfitted):
        notes.append(f"No curves: {case.stated.model.message}.")
    elif isinstance(case.asked, Unfitted):
        notes.append(f"The model is not used: {case.asked.message}.")
    if case.stated.current.assumed:
        names = listed([NAMES[setting] for setting in case.stated.current.assumed])
        notes.append(f"Nobody says what is set: the default is assumed for {names}.")
    if case.assumed and not isinstance(case.stated.model, Unfitted):
        notes.append(f"Assumed: {listed(list(case.assumed))}.")
    if from_status and not isinstance(case.stated.model, Unfitted):
        notes.append("The verdict and the values are the operator's. Curves and reasons are computed from the model.")
    return tuple(notes)
