"""Would the models of then have foreseen what came: fit on the first days, count on the later ones.

A model says how many of the later values lie beyond a time. It is asked at the times that, it says, 1 value in 100, in
1,000 and in 10,000 exceeds, at the mean and at its 95 % upper bound; the next edge of a bucket from there on is where
values can be counted. Nothing is fitted to the later days.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, time

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heartbeat_tuner.fitting.models import model_estimate
from heartbeat_tuner.fitting.models.backtest_scores import (
    RARE,
    Backtest,
    BacktestSubject,
    FleetScore,
    Level,
    Scored,
    ShareForecast,
    beyond_chance,
    judged,
    within_chance,
)
from heartbeat_tuner.fitting.models.day_series import Counts, DaySeries
from heartbeat_tuner.tails import drift
from heartbeat_tuner.tails.gpd import Array
from heartbeat_tuner.tails.histogram import EDGES_S
from heartbeat_tuner.tails.model import Rejected, TailModel


def run(rows: pa.Table, *, fit_until: date) -> Backtest:
    """Fit on the days up to one, and count on those after it.

    Args:
        rows: of the contract; the columns of text may be dictionaries.
        fit_until: the last day that models may know.

    Raises:
        ContractError: rows that are not of the contract.
        ValueError: no day up to that one, or none after it.
    """
    early = rows.filter(pc.less_equal(rows["day"], fit_until))
    late = rows.filter(pc.greater(rows["day"], fit_until))
    if not early.num_rows or not late.num_rows:
        raise ValueError(f"fit_until {fit_until}: there must be days up to it, and days after it")
    fitted_at = datetime.combine(fit_until, time(), UTC)  # of no consequence, and the same for the same rows
    models = model_estimate.models(early, on=fit_until, fitted_at=fitted_at, job="backtest")
    later = Counts(DaySeries.of(late))
    scored, rejected = [], Counter[str]()
    for model in models:
        for quantity, fitted in model.quantities.items():
            if isinstance(fitted.tail, Rejected):
                rejected[fitted.tail.reason.value] += 1
                continue
            came = later.of(model.cluster, model.namespace, model.group, model.client, quantity)
            if came is not None:
                subject = BacktestSubject(model.cluster, model.namespace, model.group, quantity)
                scored.append(score(subject, fitted.tail, came))
    first, last = pc.min_max(early["day"]).as_py(), pc.min_max(late["day"]).as_py()
    quantities = sorted({group.subject.quantity for group in scored})
    return Backtest(
        fitted_since=first["min"],
        fitted_until=first["max"],
        scored_since=last["min"],
        scored_until=last["max"],
        groups=tuple(scored),
        rejected=dict(rejected),
        fleet=tuple(_fleet(name, [group for group in scored if group.subject.quantity == name]) for name in quantities),
    )


def score(subject: BacktestSubject, model: TailModel, came: Array) -> Scored:
    """Return what one model says of values that came later, and what they say of it.

    Args:
        subject: of which quantity of which group.
        model: fitted without them.
        came: how many of them lie in each bucket.
    """
    total = float(came.sum())
    asked = []
    for exceeded in RARE:
        if exceeded > model.share:
            continue
        edge, upper_edge = (
            min(int(np.searchsorted(EDGES_S, time_s)), len(EDGES_S) - 1)
            for time_s in (model.quantile_s(exceeded), model.quantile_upper_s(exceeded))
        )
        asked.append(
            ShareForecast(
                exceeded=exceeded,
                time_s=float(EDGES_S[edge]),
                predicted=total * float(model.sf(EDGES_S[edge])[0]),
                seen=int(came[edge:].sum()),
                upper_time_s=float(EDGES_S[upper_edge]),
                upper_predicted=total * float(model.exceedance_upper(EDGES_S[upper_edge])[0]),
                upper_seen=int(came[upper_edge:].sum()),
            )
        )
    return Scored(subject, int(total), tuple(asked), drift.measure_drift(model, came))


def _fleet(quantity: str, scored: Sequence[Scored]) -> FleetScore:
    levels = tuple(
        _level(exceeded, asked)
        for exceeded in RARE
        if (
            asked := [
                share_forecast
                for group in scored
                for share_forecast in group.asked
                if share_forecast.exceeded == exceeded
            ]
        )
    )
    verdict, because = judged(levels)
    drifted = Counter(group.drift.verdict for group in scored)
    return FleetScore(quantity, levels, dict(drifted), verdict, because)


def _level(exceeded: float, asked: Sequence[ShareForecast]) -> Level:
    seen, predicted = _arrays((share_forecast.seen, share_forecast.predicted) for share_forecast in asked)
    upper_seen, upper_predicted = _arrays(
        (share_forecast.upper_seen, share_forecast.upper_predicted) for share_forecast in asked
    )
    return Level(
        exceeded=exceeded,
        groups=len(asked),
        predicted=float(predicted.sum()),
        seen=int(seen.sum()),
        within=float(within_chance(seen, predicted).mean()),
        kept=float(1.0 - beyond_chance(upper_seen, upper_predicted).mean()),
    )


def _arrays(pairs: Iterable[tuple[float, float]]) -> tuple[Array, Array]:
    first, second = np.array(list(pairs), dtype=np.float64).reshape(-1, 2).T
    return first, second
