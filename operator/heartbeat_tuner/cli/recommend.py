"""`heartbeat-tuner recommend`: what the operator would set for one group, and why, from metrics alone.

`decision.outside` makes of the group's series what the operator gathers from three sources; the decision is the
operator's own. What cannot be measured is unknown, with the fix that `doctor` has for it.
"""

import dataclasses
from datetime import timedelta
from typing import Any, Final

import click

from heartbeat_tuner.adapters.prometheus import PrometheusSource
from heartbeat_tuner.cli import asking
from heartbeat_tuner.cli.doctor import FORMATS, as_document, finding_text, fix_object
from heartbeat_tuner.cli.options import client_of, duration
from heartbeat_tuner.cli.problems import UsageProblem
from heartbeat_tuner.cli.wording import shown, table, wrapped
from heartbeat_tuner.clients.client import Client
from heartbeat_tuner.decision import outside
from heartbeat_tuner.decision.decide import decide
from heartbeat_tuner.decision.linting import NAMES
from heartbeat_tuner.decision.outside import Outside
from heartbeat_tuner.decision.situation import Situation
from heartbeat_tuner.domain import durations, liveness
from heartbeat_tuner.domain.evidence import Record
from heartbeat_tuner.domain.liveness import TUNED, CurrentSettings, LivenessSettings, Setting, Source
from heartbeat_tuner.domain.verdicts import Decision, Verdict
from heartbeat_tuner.metrics import diagnosis, discovery, resolver
from heartbeat_tuner.metrics.conventions import catalogue
from heartbeat_tuner.metrics.diagnosis import USES, Diagnosis, Finding, FoundGroup, Severity

BASELINE_MARGIN: Final = timedelta(minutes=5)
"""Read this much more, so that counters have a sample before the time that is counted."""


_NO_VALUES: Final = frozenset({Verdict.UNKNOWN, Verdict.INFEASIBLE})


@dataclasses.dataclass(frozen=True, slots=True)
class Answer:
    """What is said of one group.

    Attributes:
        seen: the group from outside; None if nothing could be read of it.
        situation: what was made of it; None likewise.
        decision: what follows; None likewise.
        findings: what is missing, by `doctor`.
    """

    seen: Outside | None
    situation: Situation | None
    decision: Decision | None
    findings: tuple[Finding, ...]

    @property
    def is_known(self) -> bool:
        """Whether there is an answer."""
        return self.decision is not None and self.decision.verdict is not Verdict.UNKNOWN


@click.command("recommend", short_help="Say what to set for one group, and why, from metrics alone.")
@asking.options
@click.option("--group", required=True, help="The consumer group.")
@click.option("--client", "name", required=True, help="Its client library; `heartbeat-tuner clients` lists them.")
@click.option("--session-timeout", type=duration, help="What is set now; else the library's default is assumed.")
@click.option("--heartbeat-interval", type=duration, help="Likewise.")
@click.option("--fetch-wait", type=duration, help="Likewise: maxWaitTimeInMs, fetch.max.wait.ms.")
@click.option("--max-poll-interval", type=duration, help="Likewise, of clients that have one.")
@click.option("--brokers", type=click.IntRange(1, 10_000), default=1, show_default=True, help="Of the Kafka cluster.")
@click.option(
    "--max-detection-time", type=duration, default="60s", show_default=True, help="How late a crash may be noticed."
)
@click.option("--output", "-o", type=click.Choice(FORMATS), default="text", show_default=True)
def command(  # noqa: PLR0913 - one parameter for each option
    *,
    group: str,
    name: str,
    session_timeout: timedelta | None,
    heartbeat_interval: timedelta | None,
    fetch_wait: timedelta | None,
    max_poll_interval: timedelta | None,
    brokers: int,
    max_detection_time: timedelta,
    output: str,
    **given: Any,
) -> None:
    """Say what heartbeat-tuner would set for one consumer group, and why, from what a Prometheus has of it.

    No cluster is asked and nothing is changed. Say what is set now, or the library's defaults are assumed.

    Exit status: 0 if there is an answer, 1 if it is unknown, 2 if Prometheus could not be asked.
    """
    client = _client(name)
    flags = {
        Setting.SESSION_TIMEOUT: session_timeout,
        Setting.HEARTBEAT_INTERVAL: heartbeat_interval,
        Setting.FETCH_WAIT: fetch_wait,
        Setting.MAX_POLL_INTERVAL: max_poll_interval,
    }
    current = _current(client, {setting: value for setting, value in flags.items() if value is not None})
    asked = asking.asked(**given)

    async def answer(source: PrometheusSource) -> Answer:
        inventory = await asking.inventory(source, asked)
        found = diagnosis.diagnose(inventory, catalogue.OF_GROUPS).only(group)
        mine = the_group(found, client)
        if mine is None:
            return Answer(None, None, None, found.findings)
        window = asked.lookback + BASELINE_MARGIN
        query = discovery.of_group(mine.convention, USES, namespace=mine.namespace, group=group, window=window)
        series = await source.instant(query, at=inventory.now)
        place = (mine.namespace, group)
        observed = resolver.by_convention(series, [mine.convention], place)[mine.convention]
        seen = Outside(
            *place,
            client=client,
            convention=mine.convention,
            observed=observed,
            current=current,
            brokers=brokers,
            max_detection_time=max_detection_time,
            lookback=asked.lookback,
            now=inventory.now,
        )
        situation = outside.situation(seen)
        return Answer(seen, situation, decide(situation), found.findings)

    said = asking.run(asked, answer)
    click.echo(as_text(said, asked.lookback) if output == "text" else as_document(document(said), output), nl=False)
    if not said.is_known:
        raise click.exceptions.Exit(1)


def as_text(said: Answer, lookback: timedelta) -> str:
    """Return what was measured, one table of settings, and why; of what is unknown, what is missing."""
    blocks = []
    if said.seen is not None and said.situation is not None and said.decision is not None:
        blocks += _told(said.seen, said.situation, said.decision)
    missing = [one for one in said.findings if one.severity is not Severity.INFO]
    blocks += ["\n".join(finding_text([one])) for one in missing]
    if not said.is_known:
        blocks.append(f"Unknown: nothing is recommended (looked back {durations.show(lookback)}).")
    return "\n\n".join(blocks) + "\n"


def document(said: Answer) -> dict[str, Any]:
    """Return the same as plain values."""
    found: dict[str, Any] = {"verdict": Verdict.UNKNOWN.value}
    if said.seen is not None and said.situation is not None and said.decision is not None:
        seen, decision = said.seen, said.decision
        target, now = decision.target, seen.current
        found = {
            "verdict": decision.verdict.value,
            "reason": decision.finding.reason.value,
            "message": decision.finding.message,
            "advice": decision.advice,
            "namespace": seen.namespace,
            "group": seen.group,
            "client": seen.client.name,
            "convention": seen.convention.name,
            "pods": sorted(pod.name for pod in said.situation.workload.pods),
            "measured": _measured_object(seen, said.situation),
            "settings": {
                setting.value: {
                    "nowMilliseconds": durations.to_ms(value),
                    "assumed": setting in now.assumed,
                    "recommendedMilliseconds": None if target is None else durations.to_ms(target[setting]),
                }
                for setting, value in _tuned(now.settings).items()
            },
            "notes": _notes(seen, said.situation),
        }
    missing = [one for one in said.findings if one.severity is not Severity.INFO]
    found["missing"] = [{"id": one.id, "message": one.message, "fix": fix_object(one.fix)} for one in missing]
    return found


def _told(seen: Outside, situation: Situation, decision: Decision) -> list[str]:
    pods = len(situation.workload.pods)
    title = (
        f"{shown(seen.group)} ({shown(seen.namespace)}): {seen.client.title}, {pods} pod{'' if pods == 1 else 's'}, "
        f"measured by {seen.convention.title}"
    )
    blocks = [wrapped(title, "", "  ")]
    if isinstance(situation.record, Record):
        blocks.append("\n".join(["measured", *table(_measured(seen, situation.record), "  ")]))
        blocks.append("\n".join(_settings(seen, decision)))
    message = f"{decision.finding.message}{f'. {decision.advice}' if decision.advice else ''}."
    blocks.append("\n".join([f"{decision.verdict}: {decision.finding.reason}", wrapped(_harmless(message), "  ")]))
    blocks += [wrapped(f"Note: {note}", "", "  ") for note in _notes(seen, situation)]
    return blocks


def _measured(seen: Outside, record: Record) -> list[tuple[str, str]]:
    """Return what was measured, beside what the settings give, as lines."""
    period = outside.expected(seen)
    given = f"{durations.show(period.shortest)} to {durations.show(period.longest)}"
    beat = "none was accepted" if record.beat_period is None else durations.about(record.beat_period)
    rows = [
        ("for", durations.show(timedelta(seconds=round(record.span.total_seconds())))),
        ("a heartbeat every", f"{beat}; by the settings, {given}"),
        ("evictions", f"{record.evictions} of live members"),
        ("rejoins", f"{record.rebalances:.3g} per member"),
        ("time in rebalances", "-" if record.rebalancing_share is None else f"{record.rebalancing_share:.1%}"),
    ]
    if record.longest_silence is not None:
        rows.append(("longest silence", durations.about(record.longest_silence)))
    if seen.current.settings.max_poll_interval is not None:
        gap = "-" if record.longest_poll_gap is None else durations.about(record.longest_poll_gap)
        rows.append(("longest poll gap", gap))
        rows.append(("left for not polling", f"{record.poll_gap_evictions} times"))
    return rows


def _measured_object(seen: Outside, situation: Situation) -> dict[str, Any] | None:
    record = situation.record
    if not isinstance(record, Record):
        return None
    period = outside.expected(seen)
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


def _settings(seen: Outside, decision: Decision) -> list[str]:
    now, target = seen.current.settings, decision.target
    moved = () if target is None else liveness.changed(now, target)
    rows = [("setting", "now", "recommended", "reason")]
    for setting, value in _tuned(now).items():
        assumed = " (assumed)" if setting in seen.current.assumed else ""
        if decision.verdict in _NO_VALUES:
            rows.append((NAMES[setting], f"{durations.show(value)}{assumed}", "-", decision.finding.reason.value))
        elif target is None or setting not in moved:
            rows.append((NAMES[setting], f"{durations.show(value)}{assumed}", durations.show(value), "as it is"))
        else:
            reason = decision.finding.reason.value
            rows.append((NAMES[setting], f"{durations.show(value)}{assumed}", durations.show(target[setting]), reason))
    return table(rows, "")


def _notes(seen: Outside, situation: Situation) -> list[str]:
    """Return what the answer rests on that nobody measured."""
    record, assumed = situation.record, seen.current.assumed
    if not isinstance(record, Record):
        return []
    notes = []
    if outside.beats_otherwise(seen, record):
        notes.append(
            "the members do not beat as these settings say: others are set, most likely; say which with "
            f"{', '.join(map(_option, _tuned(seen.current.settings)))}."
        )
    elif assumed:
        whose = ", ".join(NAMES[setting] for setting in assumed)
        notes.append(
            f"the library's default is assumed for {whose}, and the answer rests on that; say what is set with "
            f"{', '.join(map(_option, assumed))}."
        )
    notes.append(
        "no broker was asked: its bounds for session timeouts are assumed to be Kafka's defaults (6s to 30m), and its "
        f"brokers to be {situation.cluster.brokers}."
    )
    return notes


def _client(name: str) -> Client:
    client = client_of(name, None)
    if name not in catalogue.LIBRARIES:
        raise UsageProblem(
            f"--client {name}: consumers of {client.title} cannot be measured yet, those of "
            f"{' and '.join(catalogue.LIBRARIES)} can; `heartbeat-tuner check --client {name}` checks settings without"
        )
    return client


def _current(client: Client, given: dict[Setting, timedelta]) -> CurrentSettings:
    unknown = next((setting for setting in given if setting not in client.settings), None)
    if unknown is not None:
        raise UsageProblem(f"{_option(unknown)}: {client.title} has no {NAMES[unknown]}; take the option out")
    settings = LivenessSettings.of({**client.defaults.by_setting, **given})
    sources = {one: Source.POLICY if one in given else Source.DEFAULT for one in _tuned(settings)}
    return CurrentSettings(settings, sources)


def the_group(found: Diagnosis, client: Client) -> FoundGroup | None:
    """Return the group; None if it is not there.

    Raises:
        UsageProblem: it is in several namespaces, or another library's.
    """
    if len(found.groups) > 1:
        places = ", ".join(shown(one.namespace) for one in found.groups)
        raise UsageProblem(f"--group: a group of this name is in namespaces {places}; say which with --namespace")
    for one in found.groups:
        if client.name not in one.convention.libraries:
            raise UsageProblem(
                f"--client {client.name}: the group is exported by {one.convention.title}, as consumers of "
                f"{', '.join(one.convention.libraries)} are"
            )
    return next(iter(found.groups), None)


def _tuned(settings: LivenessSettings) -> dict[Setting, timedelta]:
    return {setting: value for setting, value in settings.by_setting.items() if setting in TUNED}


def _option(setting: Setting) -> str:
    return f"--{NAMES[setting].replace(' ', '-')}"


def _harmless(message: str) -> str:
    """Return a sentence in which a group's name, or a pod's, may stand."""
    return shown(message, 4096)


def _seconds(time: timedelta | None) -> float | None:
    return None if time is None else round(time.total_seconds(), 3)
