"""How old a member's last heartbeat is when something happens to it, and how long it is silent on its own account.

Two kinds of libraries. Most beat by a clock, each P: the age of the last beat is anything from 0 to P, and a member
that wakes beats at once. KafkaJS beats between two turns of its fetch loop, when H has passed: its turns are a renewal
process, the age at the start of a turn follows the renewal measure on 0 to H, and a member that wakes must finish its
turn first.
"""

import dataclasses
from collections.abc import Callable
from datetime import timedelta
from typing import Final

import numpy as np

from heartbeat_tuner.clients import java
from heartbeat_tuner.clients.client import Circumstances, Client
from heartbeat_tuner.decision.cost.quadrature import NODES, quantile_nodes
from heartbeat_tuner.domain.liveness import LivenessSettings
from heartbeat_tuner.tails.gpd import Array
from heartbeat_tuner.tails.law import TIMES_S, Law

_JAVA_TICK_S: Final = 0.01
"""What the Java client's thread oversleeps on average, as measured on a real broker."""

_GAUSS: Final = np.polynomial.legendre.leggauss(3)
_CELLS: Final = 48
"""Into how many parts H is cut for the renewal measure."""

_GRID_S: Final = TIMES_S[::3]
_EDGES: Final = np.concatenate((np.arange(10) / 10, [0.95, 0.98, 0.99, 0.997, 0.999, 0.9997, 1.0]))
_MIDDLES: Final = (_EDGES[1:] + _EDGES[:-1]) / 2
"""Shares of times: finer where they are long, for it is the longest of many members that a barrier waits for."""

_SHORTEST_S: Final = 1e-3


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Cadence:
    """The beats of one member.

    Attributes:
        period_s: P, the mean time between two beats.
        ages_s: ages of the last beat when something happens to the member: a few that stand for all.
        weights: the share of each.
        silences_s: how long its silence would have lasted without what happened to it, a few of equal share; None where
            that is the age, uniform on 0 to P.
        turns: for a library whose beat waits for its loop.
    """

    period_s: float
    ages_s: Array
    weights: Array
    silences_s: Array | None = None
    turns: "LoopTurns | None" = None

    @property
    def mean_age_s(self) -> float:
        """The mean age of the last beat."""
        return float(self.weights @ self.ages_s)


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class LoopTurns:
    """The turns of a fetch loop.

    Attributes:
        mean_s: of one turn.
        starts_s: ages of the last beat at the start of a turn: a few that stand for all.
        weights: the share of each.
        idle_s: how long a turn lasts that finds nothing.
        idle_per_day: how many of them there are.
        busy: the share of the others.
        busy_per_day: how many of those there are.
        hears_s: times from any moment to the next beat: a few that stand for all, the rare long ones too.
        hears_weights: the share of each.
    """

    starts_s: Array
    weights: Array
    idle_s: float
    idle_per_day: float
    busy: float
    busy_per_day: float
    hears_s: Array
    hears_weights: Array

    def later(self, handlers: Law) -> Callable[[Array], Array]:
        """Return P(t > x) of the time to the next beat, and one turn after it."""

        def late(times_s: Array) -> Array:
            left = times_s - self.hears_s[:, None]
            longer = self.busy * handlers.sf(left) + (1.0 - self.busy) * (self.idle_s > left)
            return np.asarray(self.hears_weights @ longer)

        return late


def by_clock(period_s: float) -> Cadence:
    """Return the cadence of a library that beats each `period_s` whatever its handlers do."""
    places, weights = _GAUSS
    return Cadence(period_s, period_s * 0.5 * (places + 1.0), weights * 0.5)


def period_of(client: Client, *, interval_s: float, wait_s: float) -> float:
    """Return the period P in seconds, as the library's card has it, for a library that beats by a clock."""
    settings = LivenessSettings(client.default_session_timeout, _whole_ms(interval_s), _whole_ms(wait_s))
    usual = client.period(settings, Circumstances()).usual.total_seconds()
    return usual + (_JAVA_TICK_S if client.period is java.period else 0.0)


def in_turns(handlers: Law, *, idle: float, interval_s: float, wait_s: float) -> Cadence:
    """Return the cadence of a library whose beat waits for the turns of its loop.

    The renewal measure is that of a grid of `_CELLS` parts of H, onto which each turn's length is laid so that its mean
    stays what it is: u(0) = 1, u(k) = sum of f(j) u(k - j).

    Args:
        handlers: the law of a turn that finds something.
        idle: the share of turns that find nothing.
        interval_s: H.
        wait_s: W, how long a turn lasts that finds nothing.
    """
    width = interval_s / _CELLS
    inside = np.concatenate(([-width], width * np.arange(_CELLS + 1)))
    busy = -np.diff(handlers.integral(inside), 2) / width
    waits = np.maximum(1.0 - np.abs(wait_s / width - np.arange(_CELLS)), 0.0)
    lengths = (1.0 - idle) * busy + idle * waits
    renewals = np.zeros(_CELLS)
    renewals[0] = 1.0 / (1.0 - min(lengths[0], 1.0 - 1.0 / _CELLS))
    for at in range(1, _CELLS):
        renewals[at] = renewals[0] * (lengths[at:0:-1] @ renewals[:at])
    count = float(renewals.sum())
    mean = max((1.0 - idle) * handlers.mean_s + idle * wait_s, _SHORTEST_S)
    shares = renewals.reshape(NODES, -1)
    weights = shares.sum(axis=1)
    ages = (width * np.arange(_CELLS).reshape(NODES, -1) * shares).sum(axis=1)
    starts = np.divide(ages, weights, out=np.zeros(NODES), where=weights > 0)
    left = _GRID_S - starts[:, None]
    gaps = weights @ ((1.0 - idle) * handlers.sf(left) + idle * (wait_s > left))
    gaps = np.where(interval_s > _GRID_S, 1.0, np.minimum(gaps, 1.0))
    until = np.concatenate(([0.0], np.cumsum((gaps[1:] + gaps[:-1]) * np.diff(_GRID_S)))) / 2.0
    hears = np.interp(_MIDDLES, until / until[-1], _GRID_S)
    turns = LoopTurns(
        starts,
        weights / count,
        wait_s,
        86_400 * idle / mean,
        1.0 - idle,
        86_400 * (1.0 - idle) / mean,
        hears,
        np.diff(_EDGES),
    )
    # A moment meets long turns more often than short ones.
    met = np.maximum((1.0 - idle) * (handlers.mean_s - handlers.integrals + TIMES_S * handlers.exceedances), 0.0)
    met = np.minimum.accumulate((met + idle * wait_s * (wait_s > TIMES_S)) / mean)
    lasting = Law.table(np.minimum(met, 1.0)).quantile((np.arange(6) + 0.5) / 6)
    ages_s = np.add.outer(turns.starts_s, np.multiply.outer(lasting, (np.arange(3) + 0.5) / 3)).ravel()
    silences = np.add.outer(turns.starts_s, lasting)
    return Cadence(
        period_s=mean * count,
        ages_s=quantile_nodes(ages_s, np.repeat(turns.weights, 18)),
        weights=np.full(NODES, 1.0 / NODES),
        silences_s=quantile_nodes(silences.ravel(), np.repeat(turns.weights, 6)),
        turns=turns,
    )


def _whole_ms(seconds: float) -> timedelta:
    return timedelta(milliseconds=max(1, round(seconds * 1e3)))
