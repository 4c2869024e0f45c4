"""Do static ids pay for a group? What restarts, crashes and pods scaled away cost with them, and without.

A dynamic member that restarts costs the group a rebalance or two, in which, of an eager group, everybody stands still.
A static one costs none if it is back within its session: its own partitions stand still meanwhile, m times its
downtime. So static ids pay where restarts are quick, members many and groups eager, and hardly ever where a rebalance
stops nobody but those who move. Both are computed with the same terms as all other costs, at the values that are set.

A static member that does not come back parks its partitions for a whole session. Nothing shows how often pods are
scaled away, but each rollout with a surge leaves an id over, which is the same: so one is charged for each rollout, and
where there is no surge as an allowance for pods that are scaled away.
"""

import dataclasses
import math
from datetime import timedelta
from typing import Final

import numpy as np

from heartbeat_tuner.clients import catalogue
from heartbeat_tuner.clients.client import Circumstances, Client
from heartbeat_tuner.decision.cost import cost_model
from heartbeat_tuner.decision.cost.cost_model import Costs
from heartbeat_tuner.decision.evictions.expected_evictions import figure
from heartbeat_tuner.decision.optimize import guard
from heartbeat_tuner.decision.optimize.questions import Question
from heartbeat_tuner.domain.sentences import Reading, Sentence, join, say
from heartbeat_tuner.domain.verdicts import StaticAdvice, Worth
from heartbeat_tuner.limits import allowed_values
from heartbeat_tuner.models.failure_profile import FailureProcess, Profile, Rebalancing
from heartbeat_tuner.models.group_model import Unfitted
from heartbeat_tuner.tails.law import TIMES_S, Law

BACK_SHARE: Final = 0.95
"""Of restarts, that a session must cover: each of the others costs what a dynamic member's would, and more."""

TERMS: Final = ("restarts", "crashes", "hangs")
"""What a static id makes cheaper or dearer; the names are those of the cost."""

_FOR_GOOD: Final = Law.constant(float(TIMES_S[-1]))


@dataclasses.dataclass(frozen=True, slots=True)
class StaticIdCosts:
    """What static ids cost and save; in stalled partition-seconds a day but where said otherwise.

    Attributes:
        dynamic: what restarts, crashes and hung handlers cost without.
        static: the same with ids, and with the ids that are left over.
        one_away: what a pod that is scaled away costs more, in stalled partition-seconds.
        back_share: how many restarts the session covers, 0 to 1.
        covering_s: the session that covers `BACK_SHARE` of them.
        with_covering: `static` with that session; infinite where it may not be set.
        wait_s: how long a rebalance waits for a member that is away, at most; 0 where nobody waits.
    """

    dynamic: float
    static: float
    one_away: float
    back_share: float
    covering_s: float
    with_covering: float
    wait_s: float

    @property
    def covers(self) -> bool:
        """Whether the session is long enough for restarts: one that ends meanwhile makes the whole group wait."""
        return self.back_share >= BACK_SHARE

    @property
    def worth(self) -> Worth:
        """Whether the ids pay: by enough, or for who has them already, or not."""
        saving = self.dynamic - self.static
        enough = saving > max(guard.UNMEASURED_IMPROVEMENT * self.dynamic, guard.LEAST_SAVING)
        if enough and self.covers:
            return Worth.PAYS
        return Worth.CLOSE if saving > 0 else Worth.COSTS


def advise(client: Client, asked: Question | Unfitted) -> StaticAdvice:
    """Return whether a group's members should have static ids.

    Args:
        client: its library.
        asked: the question that its values are found by, or why there is none.
    """
    if not client.static_membership.holds:
        why = f"no static ids: with {client.title} static membership is {client.static_membership}"
        return StaticAdvice(Worth.REFUSED, why)
    if isinstance(asked, Unfitted):
        return StaticAdvice(Worth.UNKNOWN, say("nobody knows whether static ids would pay: {why}", why=asked.message))
    with np.errstate(all="ignore"):
        costs = static_id_costs(asked)
    if not math.isfinite(costs.dynamic + costs.static):
        return StaticAdvice(Worth.UNKNOWN, "nobody knows whether static ids would pay: their cost cannot be computed")
    return StaticAdvice(costs.worth, _told(asked, costs))


def static_advice(question: Question) -> StaticAdvice:
    """Return whether a group's members should have static ids."""
    return advise(catalogue.client(question.profile.client), question)


def static_id_costs(asked: Question) -> StaticIdCosts:
    """Return what static ids cost and save at the values that are set."""
    profile, session_s = asked.profile, asked.current.session_timeout.total_seconds()
    client = catalogue.client(profile.client)
    period_s = client.period(asked.current, Circumstances()).usual.total_seconds()
    covering_s = math.ceil(float(profile.restarts.law.quantile(1.0 - BACK_SHARE)) + period_s / 2)
    highest_s = min(asked.objective.max_detection_time, asked.most_session).total_seconds()
    sessions = np.array([session_s, max(session_s, float(covering_s))])
    dynamic = _costs(dataclasses.replace(profile, static=False), asked, sessions[:1])
    static = _costs(dataclasses.replace(profile, static=True), asked, sessions)
    left_over = _left_over(profile, asked, sessions)
    both = _sum(static) + profile.restarts.per_day * left_over
    longest = asked.current.by_setting.get(client.rebalance_wait, client.defaults[client.rebalance_wait])
    waits = profile.rebalancing is not Rebalancing.CONSUMER
    return StaticIdCosts(
        dynamic=float(_sum(dynamic)[0]),
        static=float(both[0]),
        one_away=profile.share * float(static.detection_s[0]),
        back_share=1.0 - float(profile.restarts.law.sf(session_s - period_s / 2)),
        covering_s=float(covering_s),
        with_covering=float(both[1]) if session_s < covering_s <= highest_s else math.inf,
        wait_s=min(session_s, longest.total_seconds()) if waits else 0.0,
    )


def _left_over(profile: Profile, asked: Question, sessions: np.ndarray) -> np.ndarray:
    """Return what one id costs that nobody has any more: of a surge, its coming and going too."""
    gone = FailureProcess(1.0 / profile.members, _FOR_GOOD)
    alone = dataclasses.replace(profile, static=True, crashes=gone)
    costs = _costs(alone, asked, sessions)
    return np.asarray(costs.terms["crashes"] if profile.surge else profile.share * costs.detection_s)


def _costs(profile: Profile, asked: Question, sessions: np.ndarray) -> Costs:
    settings = asked.current
    limit = allowed_values.poll_limit(catalogue.client(profile.client), settings)
    return cost_model.costs(
        profile,
        interval_s=settings.heartbeat_interval.total_seconds(),
        wait_s=settings.fetch_wait.total_seconds(),
        poll_limit_s=None if limit is None else limit.total_seconds(),
        sessions_s=sessions,
    )


def _sum(costs: Costs) -> np.ndarray:
    return np.asarray(sum(costs.terms[name] for name in TERMS))


def _told(asked: Question, costs: StaticIdCosts) -> Sentence:
    """Say which is cheaper, with the numbers, what that needs and what it risks."""
    session, parts = asked.current.session_timeout, list[Sentence]()
    parts.append(
        say(
            "static ids {verdict}: restarts and crashes cost {costStatic} stalled partition-seconds a day with them, "
            "and {costDynamic} without",
            verdict=_says(costs),
            costStatic=_figure(costs.static),
            costDynamic=_figure(costs.dynamic),
        )
    )
    back = Reading(costs.back_share)
    parts.append(say("{back:.0%} of restarts are back within sessionTimeout {session}", back=back, session=session))
    if not costs.covers:
        covering, cost = Reading(timedelta(seconds=costs.covering_s)), costs.with_covering
        then = say(", and would cost {cost} then", cost=_figure(cost)) if math.isfinite(cost) else ""
        needed = "they need one of {covering}, which covers {share:.0%}{then}"
        parts.append(say(needed, covering=covering, share=BACK_SHARE, then=then))
    away = "each pod that is scaled away parks its partitions: {oneAway} partition-seconds more"
    parts.append(say(away, oneAway=_figure(costs.one_away)))
    if costs.wait_s:
        longest = timedelta(milliseconds=round(1000 * costs.wait_s))
        parts.append(say("a rebalance waits for a member that is away, for {longest} at most", longest=longest))
    return join("; ", parts)


def _figure(number: float) -> Reading:
    """Return a figure of a cost: it follows the group's size, which is no news by itself."""
    return Reading(figure(number))


def _says(costs: StaticIdCosts) -> str:
    if costs.worth is Worth.CLOSE and not costs.covers:
        return "would pay if the session covered restarts"
    return {Worth.PAYS: "pay", Worth.CLOSE: "hardly pay", Worth.COSTS: "do not pay"}[costs.worth]
