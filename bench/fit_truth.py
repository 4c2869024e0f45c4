"""Fitted tails beside the truth of the fleet that they were fitted to.

Compared are times that a member exceeds so many times a day: what a fit puts there, and what the group's laws say. Of
what only shows in part there is no truth to compare with: absences of groups whose handlers take seconds hide in them.
"""

import dataclasses
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from heartbeat_tuner.metrics.measured import ABSENCE, POLL_GAP
from heartbeat_tuner.models.group_model import GroupModel
from sandbox.fleet import JAVA, GroupTruth

COMPARED: Final = (ABSENCE, POLL_GAP)

DAY_S: Final = 86_400.0

PER_MEMBER_DAY: Final[Mapping[str, float]] = {
    "10 a day": 10.0,
    "1 a day": 1.0,
    "1 a month": 1 / 30,
    "1 a year": 1 / 365,
}
"""How often a member exceeds the compared times."""


@dataclasses.dataclass(frozen=True)
class Comparison:
    """Of one quantity, over the fleet, at one rate.

    Attributes:
        quantity: which.
        rate: a key of `PER_MEMBER_DAY`.
        groups: how many could be compared.
        ratios: fitted by true time: 5 %, 50 % and 95 % quantile over the groups.
        covered: share of the groups whose 95 % upper bound is not below the truth.
    """

    quantity: str
    rate: str
    groups: int
    ratios: tuple[float, float, float]
    covered: float


def true_s(truth: GroupTruth, quantity: str, per_day: float) -> float | None:
    """Return the time in seconds that a member of a group exceeds so many times a day; None if it only shows in part.

    Args:
        truth: the group.
        quantity: one of `COMPARED`.
        per_day: how often; less than it happens at all.
    """
    if truth.polls_quickly:
        return truth.absences.exceeded_s(per_day) + (truth.polls.median_s if quantity == POLL_GAP else 0.0)
    if quantity == ABSENCE:
        return None
    polls_a_day = DAY_S / (truth.polls.median_s * math.exp(truth.polls.sigma**2 / 2))
    place = statistics.NormalDist().inv_cdf(1 - per_day / polls_a_day)
    return truth.polls.median_s * math.exp(truth.polls.sigma * place)


def comparisons(fleet: Iterable[GroupTruth], models: Iterable[GroupModel]) -> Sequence[Comparison]:
    """Return how far fits are from the truth, for each quantity and rate of which some group can be compared."""
    fitted = {(model.namespace, model.group): model for model in models}
    groups = [(item, fitted[item.namespace, item.group]) for item in fleet if (item.namespace, item.group) in fitted]
    found = []
    for quantity in COMPARED:
        for rate, per_day in PER_MEMBER_DAY.items():
            pairs = [pair for truth, model in groups if (pair := _pair(truth, model, quantity, per_day)) is not None]
            if pairs:
                ratios = sorted(ratio for ratio, _ in pairs)
                covered = sum(bound >= 1 for _, bound in pairs) / len(pairs)
                spread = (_at(ratios, 0.05), _at(ratios, 0.5), _at(ratios, 0.95))
                found.append(Comparison(quantity, rate, len(pairs), spread, covered))
    return found


def _pair(truth: GroupTruth, model: GroupModel, quantity: str, per_day: float) -> tuple[float, float] | None:
    """Return fitted time and its bound, by the true time."""
    if quantity == POLL_GAP and truth.client != JAVA:
        return None
    true, fitted = true_s(truth, quantity, per_day), model.quantities.get(quantity)
    law = None if fitted is None else fitted.law
    if true is None or fitted is None or law is None or fitted.member_days == 0:
        return None
    tail, _ = law
    share = per_day / (fitted.values / fitted.member_days)
    if share >= tail.share:
        return None  # more often than the tail speaks of
    return tail.quantile_s(share) / true, tail.quantile_upper_s(share) / true


def _at(ordered: Sequence[float], part: float) -> float:
    return ordered[round(part * (len(ordered) - 1))]


def table(found: Iterable[Comparison]) -> str:
    """Return comparisons as lines of text."""
    head = f"{'exceeded':22}{'groups':>7}{'fitted / true: 5 %':>20}{'50 %':>7}{'95 %':>7}{'bound holds':>13}"
    return "\n".join(
        [
            head,
            *(
                f"{item.quantity:11}{item.rate:11}{item.groups:7}{item.ratios[0]:20.2f}{item.ratios[1]:7.2f}"
                f"{item.ratios[2]:7.2f}{item.covered:13.2f}"
                for item in found
            ),
        ]
    )
