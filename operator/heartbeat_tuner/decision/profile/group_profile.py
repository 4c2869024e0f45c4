"""From a fitted model to a `Profile`: what happens to a group, with its doubts, for the cost to compute with.

The absence tail is what everything rests on: without one there is no profile. All else has numbers that hold for a
fleet (deciding in the reference: a made one, of 300 groups), which stand in until the group's own history says more;
`assumed` tells which.

Rates are posterior means, laws too; beside them stand upper bounds at 95 %.
"""

import dataclasses
import math
from typing import Final

import numpy as np

from heartbeat_tuner.clients import catalogue
from heartbeat_tuner.clients.client import Beater, Circumstances
from heartbeat_tuner.decision.profile import censored, delay_laws
from heartbeat_tuner.decision.profile.group_facts import Facts, watched_days
from heartbeat_tuner.metrics.absence.stalls import HANDLERS_FROM_S
from heartbeat_tuner.metrics.measured import (
    ABSENCE,
    CRASH_DOWNTIME,
    EVICTION,
    OUTAGE,
    POLL_GAP,
    REBALANCE_LATENCY,
    RESTART_DOWNTIME,
)
from heartbeat_tuner.models.failure_profile import Delivery, FailureProcess, Profile, Rebalancing
from heartbeat_tuner.models.group_model import GroupModel, QuantityModel
from heartbeat_tuner.tails import count_bounds, shape_free
from heartbeat_tuner.tails.law import TIMES_S, Law
from heartbeat_tuner.tails.pool import Pool

OUTAGE_FROM_S: Final = 1.0
"""What is answered sooner is no outage: within that, TCP sends again what was lost."""

USUAL_CRASHES: Final = FailureProcess(
    0.01, Law.mixture([(0.9, Law.lognormal(22.0, 0.45)), (0.1, Law.lognormal(360.0, 0.45))])
)
USUAL_RESTARTS: Final = FailureProcess(0.25, Law.lognormal(22.0, 0.35))
USUAL_HANGS: Final = FailureProcess(0.001, Law.lognormal(3600.0, 1.0))
USUAL_OUTAGES: Final = FailureProcess(0.03, Law.lognormal(4.0, 0.8))
USUAL_SETTLE_S: Final = 0.6
"""Of a fleet: a member-day, an outage a day of the group."""

_USUAL_HANDLERS: Final = Law.lognormal(0.4, delay_laws.HANDLER_SIGMA)
_USUAL_TURNS: Final = Law.lognormal(
    1.2, delay_laws.HANDLER_SIGMA
)  # of the loop of a library whose beat waits for handlers
_LONG_S: Final = 5.0
_RULE_OF_THREE: Final = 3.0
_HALF_AN_EVENT: Final = 0.5
_ALPHA: Final = 0.1  # a bound of each side at 95 %
_NEVER: Final = FailureProcess(0.0, Law.constant(0.0))

_ABOUT_THE_SAME: Final = 1.1
_LEAST_SETTLE_S: Final = 0.2
_WIDTHS: Final = np.diff(TIMES_S)


@np.errstate(all="ignore")  # a model may hold any number: what comes out infinite is no better than what is set
def profile(model: GroupModel, facts: Facts) -> Profile:
    """Return what happens to a group.

    Args:
        model: what its history says; it must do for that (`unfit`).
        facts: the group as it is now.
    """
    model = dataclasses.replace(
        model, quantities={name: watched_days(quantity_model) for name, quantity_model in model.quantities.items()}
    )
    absences = model.quantities[ABSENCE]
    evicted = model.quantities.get(EVICTION)
    evicted = None if evicted is None or not evicted.values else evicted
    pauses = _pauses(absences, whole=_shows_all(model) and evicted is None, evicted=evicted)
    handlers, slow = _handlers(model, facts)
    if catalogue.client(facts.client).handler_delays_beat:
        # Missing beats do not tell a handler from a pause; and a member whose handler takes long works on.
        pauses, slow = _NEVER, pauses
    return Profile(
        client=facts.client,
        rebalancing=facts.rebalancing,
        members=facts.members,
        partitions=facts.partitions,
        static=facts.static,
        pauses=pauses,
        node_pauses=_NEVER,
        node_members=1,  # freezes of nodes are part of the pauses
        outages=_outages(model) or USUAL_OUTAGES,
        delivery=Delivery.LATE,  # delays that show are those of requests that were answered
        crashes=_events(model, CRASH_DOWNTIME, USUAL_CRASHES) or USUAL_CRASHES,
        restarts=_restarts(model, facts) or USUAL_RESTARTS,
        surge=facts.surge,
        at_once=facts.at_once,
        restarts_in_turn=True,  # nearly all are those of deploys
        hangs=USUAL_HANGS,
        handlers=handlers,
        slow_handlers=slow,
        settle_s=_settle_s(model, facts, handlers),
    )


def assumed(model: GroupModel, *, surge: bool) -> tuple[str, ...]:
    """Return which numbers of its profile are a fleet's and not the group's own, as sentences.

    Args:
        model: what its history says.
        surge: whether a new pod is started before the old one is closed.
    """
    texts = [f"hung handlers: {USUAL_HANGS.per_day:g} a member-day, for nothing shows them"]
    if _outages(model) is None:
        texts.append(
            f"outages: {USUAL_OUTAGES.per_day:g} a day, for the model has no delays of network and coordinator"
        )
    for name, what, usual in (
        (CRASH_DOWNTIME, "crashes", USUAL_CRASHES),
        (RESTART_DOWNTIME, "restarts", USUAL_RESTARTS),
    ):
        quantity = model.quantities.get(name)
        if quantity is None or quantity.rate is None:
            texts.append(f"{what}: {usual.per_day:g} a member-day, for the model counts none")
        elif name == RESTART_DOWNTIME and surge:
            both_s = usual.law.mean_s
            texts.append(f"{what}: old and new pod are both there for {both_s:.0f} s on average, for nothing shows it")
        elif quantity.duration is None:
            texts.append(f"{what}: back after {usual.law.mean_s:.0f} s on average, for the model has no times of any")
    if _median_s(model, POLL_GAP) is None:
        texts.append("handlers: as fast as usual, for the model has no gaps between polls")
    if _median_s(model, REBALANCE_LATENCY) is None:
        texts.append(f"joining: {USUAL_SETTLE_S:g} s, for the model has no times of rebalances")
    return tuple(texts)


def _pauses(absences: QuantityModel, *, whole: bool, evicted: QuantityModel | None) -> FailureProcess:
    """Return how often a member is absent, and for how long.

    Args:
        absences: that were seen.
        whole: whether gaps between polls show all of them, as they were, whatever became of the member.
        evicted: the evictions that are counted among them, by what each of them outlasted; None without any.
    """
    days, largest_s = absences.member_days, absences.largest_s or 0.0
    pauses = delay_laws.failure_process(absences, days) or _unseen(days)
    if absences.pool is not None:
        unended = evicted is not None or absences.pool.hides_from_s is not None
        pauses = delay_laws.pooled(pauses, absences.pool, days, largest_s=largest_s, whole=whole, unended=unended)
    if evicted is None or evicted.median_s is None or evicted.largest_s is None:
        return pauses
    # Of all of them the shortest session is not known where sessions were changed meanwhile, of half of them it is.
    is_one_session = evicted.largest_s < _ABOUT_THE_SAME * evicted.median_s
    count = evicted.values if is_one_session else evicted.values // 2
    counted_days = evicted.member_days or days
    expected = None if absences.pool is None else _expected(absences.pool, count, counted_days, evicted.median_s)
    return censored.outlasting(pauses, count, counted_days, from_s=evicted.median_s, expected=expected)


def _expected(pool: Pool, evictions: int, member_days: float, from_s: float) -> float:
    """Return how many evictions are expected in as many days, by what was counted and what others of its kind say.

    One evicted node in a fortnight is no rate; many evictions are one, whatever others have: what is expected is not
    below the least that the count allows.

    Args:
        pool: of all groups of its kind.
        evictions: that were counted.
        member_days: in which they were.
        from_s: what each of them outlasted.
    """
    mean, _ = pool.posterior(np.array([from_s]), np.array([float(evictions)]), member_days)
    least = count_bounds.garwood(evictions, member_days, alpha=_ALPHA).lower
    return min(max(float(mean[0]), least) * member_days, float(evictions))


def _shows_all(model: GroupModel) -> bool:
    """Whether gaps between polls show absences: handlers are usually sooner back."""
    median_s = _median_s(model, POLL_GAP)
    return median_s is not None and median_s < HANDLERS_FROM_S


def _unseen(member_days: float) -> FailureProcess:
    """Return what is known of absences where none has shown: at most so many as may be missed by chance, of any length.

    The shortest that shows is longer than a few heartbeats' distance, which `_LONG_S` stands for.
    """
    usual = Law.of(lambda times_s: np.minimum(np.maximum(times_s / _LONG_S, 1.0) ** (-1.0 / shape_free.SHAPE), 1.0))
    return FailureProcess(_HALF_AN_EVENT / member_days, usual, _RULE_OF_THREE / member_days * usual.exceedances)


def _outages(model: GroupModel) -> FailureProcess | None:
    quantity = model.quantities.get(OUTAGE)
    if quantity is None or not quantity.group_days > 0:
        return None
    own = delay_laws.failure_process(quantity, quantity.group_days, least_s=OUTAGE_FROM_S)
    if quantity.pool is None:
        return own
    # A request that was not answered before its client gave up shows no delay.
    return delay_laws.pooled(
        own or _NEVER, quantity.pool, quantity.group_days, largest_s=quantity.largest_s or 0.0, whole=False
    )


def _events(model: GroupModel, name: str, usual: FailureProcess) -> FailureProcess | None:
    """Return how often members go, and for how long; the times of `usual` where none of them are known."""
    quantity = model.quantities.get(name)
    if quantity is None or quantity.rate is None:
        return None
    rate, lasts = quantity.rate, quantity.duration
    if lasts is None:
        law = usual.law
    else:  # the doubt in the law is part of it
        law = Law.lognormal(math.exp(lasts.mean_log), lasts.sd_log * math.sqrt(1.0 + 1.0 / lasts.worth))
    return FailureProcess(rate.mean, law, max(rate.upper, rate.mean) * law.exceedances)


def _restarts(model: GroupModel, facts: Facts) -> FailureProcess | None:
    """Return how often members are replaced, and for how long either is away, or both are there."""
    shown = _events(model, RESTART_DOWNTIME, USUAL_RESTARTS)
    if shown is None or not facts.surge:
        return shown
    # Where the new member comes before the old one goes, nobody is away, and nothing shows how long both are there.
    most = shown.per_day if shown.upper_per_day is None else float(shown.upper_per_day[0])
    return FailureProcess(shown.per_day, USUAL_RESTARTS.law, most * USUAL_RESTARTS.law.exceedances)


def _handlers(model: GroupModel, facts: Facts) -> tuple[Law, FailureProcess | None]:
    """Return what handlers usually take, and how often they take long, where that is known."""
    quantity, median_s = model.quantities.get(POLL_GAP), _median_s(model, POLL_GAP)
    waits = catalogue.client(facts.client).beater is Beater.FETCH_LOOP
    usual = _USUAL_TURNS if waits else _USUAL_HANDLERS
    law = usual if median_s is None else delay_laws.handlers(median_s)
    if quantity is None or not quantity.member_days > 0:
        return law, None
    return law, delay_laws.failure_process(quantity, quantity.member_days, all_end=True)


def _settle_s(model: GroupModel, facts: Facts, handlers: Law) -> float:
    """Return how long a rebalance takes once all have joined: what is measured has the wait for the last of them."""
    median_s = _median_s(model, REBALANCE_LATENCY)
    if median_s is None:
        return USUAL_SETTLE_S
    return max(median_s - _barrier_s(facts, handlers), _LEAST_SETTLE_S)


def _barrier_s(facts: Facts, handlers: Law) -> float:
    """Return how long who joins waits for the others, half of the time: until the last one has heard of it and polls.

    Each hears of it at its next beat, anywhere in a period, and finishes its handler, of which a part is over
    (the equilibrium residual of renewal theory); the sum's distribution is the mean of the residual's over a period.
    """
    others = facts.members - 1
    if facts.rebalancing is Rebalancing.CONSUMER or others < 1:
        return 0.0
    period_s = facts.period_s
    if period_s is None:
        client = catalogue.client(facts.client)
        period_s = client.period(client.defaults, Circumstances()).usual.total_seconds()
    finished = np.minimum(handlers.integrals / handlers.mean_s, 1.0)
    summed = np.concatenate(([0.0], np.cumsum(_WIDTHS * (finished[1:] + finished[:-1]) / 2)))
    joined = (summed - np.interp(TIMES_S - period_s, TIMES_S, summed, left=0.0)) / period_s
    return float(np.interp(0.5 ** (1.0 / others), np.maximum.accumulate(joined), TIMES_S))


def _median_s(model: GroupModel, name: str) -> float | None:
    quantity = model.quantities.get(name)
    return None if quantity is None else quantity.median_s
