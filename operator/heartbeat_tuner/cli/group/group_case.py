"""What `recommend`, `explain` and `simulate` know of one group: gathered from a Prometheus and a folder of models.

`decision.from_metrics` makes of it what the operator gathers from three sources, and the decision is the operator's
own.
Without a Prometheus a model has to do: then nothing speaks for or against the values set but what it expects of them.
"""

import dataclasses
import difflib
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

import click

from heartbeat_tuner.adapters.clock import SystemClock
from heartbeat_tuner.adapters.files.model_files import ModelFiles
from heartbeat_tuner.adapters.prometheus.prometheus_source import PrometheusSource
from heartbeat_tuner.cli.group import prometheus_options, sample_group
from heartbeat_tuner.cli.group.group_options import GroupRequest
from heartbeat_tuner.cli.group.prometheus_options import PrometheusTarget
from heartbeat_tuner.cli.problems import UsageProblem
from heartbeat_tuner.cli.wording import listed, shown
from heartbeat_tuner.clients.client import Client
from heartbeat_tuner.decision import derived, from_metrics
from heartbeat_tuner.decision.from_metrics import MetricsView, StatedFacts
from heartbeat_tuner.decision.input import DecisionInput
from heartbeat_tuner.decision.optimize import static_ids, tuning
from heartbeat_tuner.decision.optimize.questions import Answer, Question
from heartbeat_tuner.decision.pipeline import decide
from heartbeat_tuner.decision.profile import usable_model
from heartbeat_tuner.doctor import diagnosis, discovery
from heartbeat_tuner.doctor.findings import DoctorFinding
from heartbeat_tuner.doctor.inventory import Diagnosis, FoundGroup
from heartbeat_tuner.doctor.uses import USES
from heartbeat_tuner.domain.evidence import Record
from heartbeat_tuner.domain.verdicts import Decision, StaticAdvice, Verdict, Worth
from heartbeat_tuner.metrics import fencing_proof
from heartbeat_tuner.metrics.conventions import known_conventions
from heartbeat_tuner.metrics.raw import resolver
from heartbeat_tuner.metrics.vocabulary import Quantity
from heartbeat_tuner.models.group_model import Fitted, Unfitted, Unreadable

BASELINE_MARGIN: Final = timedelta(minutes=5)
"""Read this much more, so that counters have a sample before the time that is counted."""

MAKE_A_MODEL: Final = "`heartbeat-tuner fit --prometheus URL --history DIR --models DIR --since 24h` makes one"

_NEAREST: Final = 3


@dataclasses.dataclass(frozen=True, slots=True)
class Case:
    """One group, and what follows.

    Attributes:
        stated: what was said of it, and its model.
        inputs: what was made of it; None if nothing could be read of it.
        seen: its series; None if no Prometheus was asked.
        asked: the question to the decision engine, or why it cannot be asked.
        found: its answer.
        decision: what the operator would do.
        findings: what is missing, by `doctor`.
        assumed: what stands for what was not said, as sentences.
        static_ids: whether members should have static ids.
        inferred: how the library is known that nobody said, as a sentence without its stop; empty if it was said.
    """

    stated: StatedFacts
    inputs: DecisionInput | None = None
    seen: MetricsView | None = None
    asked: Question | Unfitted | None = None
    found: Answer | None = None
    decision: Decision | None = None
    findings: tuple[DoctorFinding, ...] = ()
    assumed: tuple[str, ...] = ()
    static_ids: StaticAdvice | None = None
    inferred: str = ""

    @property
    def weighed(self) -> str:
        """Whether static ids pay, as a sentence without its stop; empty where that was not computed."""
        advice = self.static_ids
        return "" if advice is None or advice.worth in {Worth.UNKNOWN, Worth.REFUSED} else advice.message

    @property
    def is_known(self) -> bool:
        """Whether there is an answer."""
        return self.decision is not None and self.decision.verdict is not Verdict.UNKNOWN


def gather(wanted: GroupRequest) -> Case:
    """Return what is known of the group that is asked for.

    Raises:
        UsageProblem: Prometheus could not be asked, or it is not clear which group is meant.
    """
    if wanted.asked is not None:
        asked = wanted.asked
        case = prometheus_options.run(asked, lambda source: _watched(source, wanted, asked))
        return dataclasses.replace(case, inferred=wanted.library.why)
    now = SystemClock().now()
    candidates = _models(wanted.models, now)
    facts = dataclasses.replace(wanted.stated, namespace=_namespace(wanted, candidates))
    facts = with_model(facts, candidates, wanted, now)
    case = case_of(facts, from_metrics.unwatched(facts, now), assumed=wanted.assumed)
    return dataclasses.replace(case, inferred=wanted.library.why)


def case_of(
    facts: StatedFacts,
    inputs: DecisionInput,
    *,
    seen: MetricsView | None = None,
    findings: tuple[DoctorFinding, ...] = (),
    assumed: tuple[str, ...] = (),
) -> Case:
    """Return what follows from what is known of a group."""
    record = inputs.record if isinstance(inputs.record, Record) else None
    asked = derived.question_of(inputs, record, facts.current.settings)
    answer = None if isinstance(asked, Unfitted) else tuning.answer(asked)
    decision = decide(inputs) if answer is None else decide(inputs, answer=lambda _asked: answer)
    if decision.forecast is None and not isinstance(asked, Unfitted):
        # Where the record is too little for a decision, the model still knows what the values set bring.
        decision = dataclasses.replace(decision, forecast=tuning.expected(asked, decision.target))
    advice = static_ids.advise(facts.client, asked)
    return Case(facts, inputs, seen, asked, answer, decision, findings, assumed, advice)


async def _watched(source: PrometheusSource, wanted: GroupRequest, asked: PrometheusTarget) -> Case:
    inventory = wanted.library.inventory or await prometheus_options.inventory(source, asked)
    report = diagnosis.diagnose(inventory, known_conventions.OF_GROUPS).only(wanted.stated.group)
    mine = the_group(report, wanted.stated.client)
    if mine is None:
        return Case(wanted.stated, findings=report.findings)
    observed = await observed_of(source, mine, lookback=asked.lookback, now=inventory.now)
    facts = dataclasses.replace(wanted.stated, namespace=mine.namespace)
    facts = with_model(facts, _models(wanted.models, inventory.now), wanted, inventory.now)
    seen = MetricsView(facts, mine.convention, observed, asked.lookback, inventory.now)
    return case_of(facts, from_metrics.watched(seen), seen=seen, findings=report.findings, assumed=wanted.assumed)


async def observed_of(
    source: PrometheusSource, mine: FoundGroup, *, lookback: timedelta, now: datetime
) -> resolver.Observed:
    """Return the series of one group.

    Args:
        source: whom to ask.
        mine: the group.
        lookback: how far back its record may reach.
        now: the end of it.

    Raises:
        MetricsUnavailableError: Prometheus gave no usable answer.
    """
    window = lookback + BASELINE_MARGIN
    quantities = (*USES, Quantity.ASSIGNED_PARTITIONS, *fencing_proof.SHOWN_BY)
    query = discovery.of_group(mine.convention, quantities, namespace=mine.namespace, group=mine.group, window=window)
    series = list(await source.instant(query, at=now))
    threads = discovery.threads_of_group(mine.convention, namespace=mine.namespace, group=mine.group, window=window)
    if threads:
        series += await source.instant(threads, at=now)
    return resolver.by_convention(series, [mine.convention], (mine.namespace, mine.group))[mine.convention]


def the_group(report: Diagnosis, client: Client) -> FoundGroup | None:
    """Return the group; None if it is not there.

    Raises:
        UsageProblem: it is in several namespaces, or another library's.
    """
    if len(report.groups) > 1:
        places = ", ".join(shown(found_group.namespace) for found_group in report.groups)
        raise UsageProblem(f"--group: a group of this name is in namespaces {places}; say which with --namespace")
    for group in report.groups:
        if client.name not in group.convention.libraries:
            raise UsageProblem(
                f"--client {client.name}: the group is exported by {group.convention.title}, as consumers of "
                f"{', '.join(group.convention.libraries)} are"
            )
    return next(iter(report.groups), None)


def with_model(
    facts: StatedFacts, candidates: Sequence[Fitted | Unreadable], wanted: GroupRequest, now: datetime
) -> StatedFacts:
    """Return the same with the model that the operator would choose, or why there is none.

    Raises:
        UsageProblem: there are models of several Kafka clusters.
    """
    if wanted.models is None:
        return dataclasses.replace(facts, model=Unfitted(f"no --models FOLDER was given; {MAKE_A_MODEL}"))
    mine = [candidate for candidate in candidates if _place(candidate) == (facts.namespace, facts.group)]
    if not mine:
        return dataclasses.replace(facts, model=Unfitted(_nothing(facts, candidates, wanted.models)))
    cluster = _cluster(mine, wanted)
    policy = dataclasses.replace(from_metrics.policy(facts, now), cluster=cluster)
    return dataclasses.replace(facts, model=usable_model.chosen(mine, policy, now=now))


def _models(folder: Path | None, now: datetime) -> Sequence[Fitted | Unreadable]:
    if folder == sample_group.FOLDER:
        return sample_group.recent(now)
    return [] if folder is None else list(ModelFiles(folder).read())


def _place(fitted: Fitted | Unreadable) -> tuple[str, str]:
    return (
        (fitted.model.namespace, fitted.model.group) if isinstance(fitted, Fitted) else (fitted.namespace, fitted.group)
    )


def _namespace(wanted: GroupRequest, candidates: Sequence[Fitted | Unreadable]) -> str:
    """Return the namespace of the group, by its models where nothing else tells."""
    if len(wanted.namespaces) == 1:
        return wanted.namespaces[0]
    places = sorted({namespace for namespace, group in map(_place, candidates) if group == wanted.stated.group})
    if wanted.namespaces:
        places = [place for place in places if place in wanted.namespaces]
    if len(places) > 1:
        sentence = ", ".join(map(shown, places))
        raise UsageProblem(f"--group: models of groups of this name are of namespaces {sentence}; say --namespace")
    return places[0] if places else ""


def _cluster(mine: list[Fitted | Unreadable], wanted: GroupRequest) -> str:
    clusters = {fitted.model.cluster for fitted in mine if isinstance(fitted, Fitted)}
    named = clusters - {""}
    if wanted.cluster is not None:
        if clusters and clusters.isdisjoint({"", wanted.cluster}):
            near = difflib.get_close_matches(wanted.cluster, named, n=1)
            hint = f"did you mean {shown(near[0])}? " if near else ""
            places = listed(sorted(map(shown, named)))
            raise UsageProblem(f"--cluster {shown(wanted.cluster)}: {hint}the models of this group are of {places}")
        return wanted.cluster
    if len(named) > 1:
        raise UsageProblem(
            f"--models: there are models of this group in the Kafka clusters {listed(sorted(map(shown, named)))}; say "
            f"--cluster"
        )
    return next(iter(named), "")


def _nothing(facts: StatedFacts, candidates: Sequence[Fitted | Unreadable], folder: Path) -> str:
    groups = sorted({group for _, group in map(_place, candidates)})
    where = click.format_filename(folder)
    if not groups:
        return f"{where} holds no models; {MAKE_A_MODEL}"
    near = difflib.get_close_matches(facts.group, groups, n=_NEAREST) or groups[:_NEAREST]
    place = f"{facts.namespace}/{facts.group}" if facts.namespace else facts.group
    count = f"{len(groups)} group{'' if len(groups) == 1 else 's'}"
    return (
        f"no model in {where} is of group {place}; did you mean {listed([shown(name) for name in near], 'or')}? It "
        f"has models of {count}; {MAKE_A_MODEL}"
    )
