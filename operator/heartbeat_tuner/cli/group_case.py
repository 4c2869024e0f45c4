"""What `recommend`, `explain` and `simulate` know of one group: gathered from a Prometheus and a folder of models.

`decision.outside` makes of it what the operator gathers from three sources, and the decision is the operator's own.
Without a Prometheus a model has to do: then nothing speaks for or against the values set but what it expects of them.
"""

import dataclasses
import difflib
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

import click

from heartbeat_tuner.adapters.clock import SystemClock
from heartbeat_tuner.adapters.model_files import ModelFiles
from heartbeat_tuner.adapters.prometheus import PrometheusSource
from heartbeat_tuner.cli import asking
from heartbeat_tuner.cli.asking import Asked
from heartbeat_tuner.cli.group_options import Wanted
from heartbeat_tuner.cli.problems import UsageProblem
from heartbeat_tuner.cli.wording import listed, shown
from heartbeat_tuner.clients.client import Client
from heartbeat_tuner.decision import fitted, outside, question, static_ids, tuning
from heartbeat_tuner.decision.input import DecisionInput
from heartbeat_tuner.decision.outside import Outside, Told
from heartbeat_tuner.decision.pipeline import decide
from heartbeat_tuner.decision.tuning import Answer, Question
from heartbeat_tuner.domain.evidence import Record
from heartbeat_tuner.domain.verdicts import Decision, StaticAdvice, Verdict, Worth
from heartbeat_tuner.metrics import diagnosis, discovery, resolver
from heartbeat_tuner.metrics.conventions import catalogue
from heartbeat_tuner.metrics.findings import Finding
from heartbeat_tuner.metrics.inventory import Diagnosis, FoundGroup
from heartbeat_tuner.metrics.uses import USES
from heartbeat_tuner.metrics.vocabulary import Quantity
from heartbeat_tuner.tails.group_model import Fitted, Unfitted, Unreadable

BASELINE_MARGIN: Final = timedelta(minutes=5)
"""Read this much more, so that counters have a sample before the time that is counted."""

MAKE_A_MODEL: Final = "`heartbeat-tuner fit --prometheus URL --history DIR --models DIR --since 24h` makes one"

_NEAREST: Final = 3


@dataclasses.dataclass(frozen=True, slots=True)
class Case:
    """One group, and what follows.

    Attributes:
        told: what was said of it, and its model.
        inputs: what was made of it; None if nothing could be read of it.
        seen: its series; None if no Prometheus was asked.
        asked: the question to the decision engine, or why it cannot be asked.
        found: its answer.
        decision: what the operator would do.
        findings: what is missing, by `doctor`.
        assumed: what stands for what was not said, as sentences.
        static_ids: whether members should have static ids.
    """

    told: Told
    inputs: DecisionInput | None = None
    seen: Outside | None = None
    asked: Question | Unfitted | None = None
    found: Answer | None = None
    decision: Decision | None = None
    findings: tuple[Finding, ...] = ()
    assumed: tuple[str, ...] = ()
    static_ids: StaticAdvice | None = None

    @property
    def weighed(self) -> str:
        """Whether static ids pay, as a sentence without its stop; empty where that was not reckoned."""
        advice = self.static_ids
        return "" if advice is None or advice.worth in {Worth.UNKNOWN, Worth.REFUSED} else advice.message

    @property
    def is_known(self) -> bool:
        """Whether there is an answer."""
        return self.decision is not None and self.decision.verdict is not Verdict.UNKNOWN


def gather(wanted: Wanted) -> Case:
    """Return what is known of the group that is asked for.

    Raises:
        UsageProblem: Prometheus could not be asked, or it is not clear which group is meant.
    """
    if wanted.asked is not None:
        asked = wanted.asked
        return asking.run(asked, lambda source: _watched(source, wanted, asked))
    now, candidates = SystemClock().now(), _models(wanted.models)
    told = dataclasses.replace(wanted.told, namespace=_namespace(wanted, candidates))
    told = with_model(told, candidates, wanted, now)
    return of(told, outside.unwatched(told, now), assumed=wanted.assumed)


def of(
    told: Told,
    inputs: DecisionInput,
    *,
    seen: Outside | None = None,
    findings: tuple[Finding, ...] = (),
    assumed: tuple[str, ...] = (),
) -> Case:
    """Return what follows from what is known of a group."""
    record = inputs.record if isinstance(inputs.record, Record) else None
    asked = question.asked(inputs, record, told.current.settings)
    found = None if isinstance(asked, Unfitted) else tuning.answer(asked)
    decision = decide(inputs) if found is None else decide(inputs, answer=lambda _asked: found)
    if decision.forecast is None and not isinstance(asked, Unfitted):
        # Where the record is too little for a decision, the model still knows what the values set bring.
        decision = dataclasses.replace(decision, forecast=tuning.expected(asked, decision.target))
    advice = static_ids.advise(told.client, asked)
    return Case(told, inputs, seen, asked, found, decision, findings, assumed, advice)


async def _watched(source: PrometheusSource, wanted: Wanted, asked: Asked) -> Case:
    inventory = await asking.inventory(source, asked)
    found = diagnosis.diagnose(inventory, catalogue.OF_GROUPS).only(wanted.told.group)
    mine = the_group(found, wanted.told.client)
    if mine is None:
        return Case(wanted.told, findings=found.findings)
    window = asked.lookback + BASELINE_MARGIN
    quantities = (*USES, Quantity.ASSIGNED_PARTITIONS)
    query = discovery.of_group(mine.convention, quantities, namespace=mine.namespace, group=mine.group, window=window)
    series = await source.instant(query, at=inventory.now)
    place = (mine.namespace, mine.group)
    observed = resolver.by_convention(series, [mine.convention], place)[mine.convention]
    told = dataclasses.replace(wanted.told, namespace=mine.namespace)
    told = with_model(told, _models(wanted.models), wanted, inventory.now)
    seen = Outside(told, mine.convention, observed, asked.lookback, inventory.now)
    return of(told, outside.watched(seen), seen=seen, findings=found.findings, assumed=wanted.assumed)


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


def with_model(told: Told, candidates: list[Fitted | Unreadable], wanted: Wanted, now: datetime) -> Told:
    """Return the same with the model that the operator would choose, or why there is none.

    Raises:
        UsageProblem: there are models of several Kafka clusters.
    """
    if wanted.models is None:
        return dataclasses.replace(told, model=Unfitted(f"no --models FOLDER was given; {MAKE_A_MODEL}"))
    mine = [one for one in candidates if _place(one) == (told.namespace, told.group)]
    if not mine:
        return dataclasses.replace(told, model=Unfitted(_nothing(told, candidates, wanted.models)))
    cluster = _cluster(mine, wanted)
    policy = dataclasses.replace(outside.policy(told, now), cluster=cluster)
    return dataclasses.replace(told, model=fitted.chosen(mine, policy, now=now))


def _models(folder: Path | None) -> list[Fitted | Unreadable]:
    return [] if folder is None else list(ModelFiles(folder).read())


def _place(one: Fitted | Unreadable) -> tuple[str, str]:
    return (one.model.namespace, one.model.group) if isinstance(one, Fitted) else (one.namespace, one.group)


def _namespace(wanted: Wanted, candidates: list[Fitted | Unreadable]) -> str:
    """Return the namespace of the group, by its models where nothing else tells."""
    if len(wanted.namespaces) == 1:
        return wanted.namespaces[0]
    places = sorted({namespace for namespace, group in map(_place, candidates) if group == wanted.told.group})
    if wanted.namespaces:
        places = [one for one in places if one in wanted.namespaces]
    if len(places) > 1:
        told = ", ".join(map(shown, places))
        raise UsageProblem(f"--group: models of groups of this name are of namespaces {told}; say --namespace")
    return places[0] if places else ""


def _cluster(mine: list[Fitted | Unreadable], wanted: Wanted) -> str:
    named = {one.model.cluster for one in mine if isinstance(one, Fitted)} - {""}
    if wanted.cluster is not None:
        return wanted.cluster
    if len(named) > 1:
        raise UsageProblem(
            f"--models: there are models of this group in the Kafka clusters {listed(sorted(map(shown, named)))}; say "
            f"--cluster"
        )
    return next(iter(named), "")


def _nothing(told: Told, candidates: list[Fitted | Unreadable], folder: Path) -> str:
    groups = sorted({group for _, group in map(_place, candidates)})
    where = click.format_filename(folder)
    if not groups:
        return f"{where} holds no models; {MAKE_A_MODEL}"
    near = difflib.get_close_matches(told.group, groups, n=_NEAREST, cutoff=0.0)
    place = f"{told.namespace}/{told.group}" if told.namespace else told.group
    return (
        f"no model in {where} is of group {place}; it has models of {len(groups)} groups, the nearest names are "
        f"{listed([shown(one) for one in near])}; {MAKE_A_MODEL}"
    )
