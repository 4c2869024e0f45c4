"""How many evictions descriptions of a group did not catch, where only the group watcher counts them.

A member that is back before its group is described again shows a new id and nothing else: it was evicted, or its
consumer was closed and made again. A share s of the evictions is caught, so n certain ones leave a negative binomial
number of others, n (1 - s) / s on average with the variance n (1 - s) / s^2. Which share that is depends on how long
evicted members are out of their groups, by a law that nobody knows; but evictions leave unseen ids in proportion to
the certain ones, and programs that make consumers again do not. So groups whose unseen ids are explained by those that
descriptions miss tell the share, and it tells which groups these are, in turn, beginning with what most groups of a
namespace at a cluster have. Their unseen ids count as evictions. Of other groups only the certain ones count, over the
share of the time in which descriptions would have caught one.

A group without any certain eviction tells nothing of the share: rare reopenings alone look like evictions of which each
was missed. Its unseen ids count only where the share that the others tell explains them, and explains how many such
groups there are: of all groups with a single new id, whatever their rates are, this one is certain in that share. Where
nobody of a namespace was certainly evicted, nothing is counted.

Where most programs of a namespace make consumers again, its rates are too high (`docs/benchmarks.md`). Descriptions of
a namespace of a few groups are believed to catch the usual share: where they catch much less, its rates are too low.
"""

from collections.abc import Mapping
from typing import Final

import numpy as np
import numpy.typing as npt

from heartbeat_tuner.fitting.models import day_counts
from heartbeat_tuner.fitting.models.day_counts import Age, DayCounts
from heartbeat_tuner.fitting.models.day_series import Place
from heartbeat_tuner.tails.gpd import Array

_BEFORE: Final = 0.8
"""The share that descriptions catch, before any group is looked at: members that are out for 12 s on average are caught
in 0.82 by descriptions 5 s apart."""

_LEAST: Final = 1.0 / 11.0
"""With more than ten unseen ids for each certain eviction it is the programs' doing, whatever other groups show."""

_WORTH_GROUPS: Final = 3
_WORTH_EVICTIONS: Final = 10.0
"""What that counts for, beside the groups of a namespace and their evictions."""

_EXPLAINED_SD: Final = 2.5
"""So many standard deviations more than the average are explained by what descriptions miss."""

_TURNS: Final = 20
"""After so many the same groups are explained as in the turn before, or nearly so."""

_COUNTED: Final = 0.9
"""Of the time in which certain ones were counted: an older version did not count the others."""


def exposed(
    groups: Mapping[Place, int],
    seen: DayCounts,
    unseen: Mapping[Place, int],
    aged: Age,
) -> tuple[Array, Array]:
    """Return how many evictions of each group are known, and the member-days in which so many are expected.

    Args:
        groups: with the numbers of the series of their evictions.
        seen: these evictions.
        unseen: groups with the numbers of the series of their unseen rejoins.
        aged: what days are worth.
    """
    certain, days = seen.whole.sum(axis=1), seen.member_days
    places = [row for row, place in enumerate(groups) if place in unseen]
    rejoins, rejoin_days = np.zeros((2, len(groups)))
    if places:
        names = list(groups)
        beside = day_counts.counted({names[row]: unseen[names[row]] for row in places}, {}, aged, has_regimes=False)
        rejoins[places], rejoin_days[places] = beside.whole.sum(axis=1), beside.member_days
    counts_unseen = (rejoin_days > 0) & (rejoin_days >= _COUNTED * days)
    numbers = {home: number for number, home in enumerate({(cluster, namespace) for cluster, namespace, _ in groups})}
    homes = np.array([numbers[cluster, namespace] for cluster, namespace, _ in groups], dtype=np.int64)
    events, caught = with_unseen(certain, rejoins, counts_unseen, homes)
    return events, days * caught


def with_unseen(
    certain: Array, unseen: Array, counts_unseen: npt.NDArray[np.bool_], homes: npt.NDArray[np.int64]
) -> tuple[Array, Array]:
    """Return how many evictions of each group are known, and which share of all of its evictions these are.

    Args:
        certain: evictions of each group that descriptions caught.
        unseen: new ids that no description explains.
        counts_unseen: of which groups these were counted; to the others nothing is added.
        homes: a number for each group, the same for those of one namespace at one cluster.
    """
    events, share_known = certain.astype(np.float64), np.ones(len(certain))
    for home in np.unique(homes[counts_unseen]).tolist():
        mine = counts_unseen & (homes == home)
        share, explained = _caught(certain[mine], unseen[mine])
        share_known[mine] = np.where(explained, 1.0, share)
        events[mine] += np.where(explained, unseen[mine], 0.0)
    return events, share_known


def _caught(certain: Array, unseen: Array) -> tuple[float, npt.NDArray[np.bool_]]:
    """Return the share of evictions that descriptions of one namespace catch, and whose unseen ids that explains."""
    shown = certain > 0
    if not shown.any():
        return _BEFORE, unseen == 0
    share, of_shown = _caught_of(certain[shown], unseen[shown])
    # How often the only new id of a group is unseen does not depend on its rate of evictions.
    single = np.array([(certain == 1) & (unseen == 0), (certain == 0) & (unseen == 1)]).sum(axis=1).astype(np.float64)
    is_missed = _explained(certain, unseen, share) & bool(_explained(single[:1], single[1:], share)[0])
    explained = is_missed | (unseen == 0)
    explained[shown] = of_shown
    return share, explained


def _caught_of(certain: Array, unseen: Array) -> tuple[float, npt.NDArray[np.bool_]]:
    """Return the same of groups that have certain evictions."""
    own = certain / (certain + unseen)
    share = max(float(np.median(np.concatenate([own, np.full(_WORTH_GROUPS, _BEFORE)]))), _LEAST)
    explained = _explained(certain, unseen, share)
    for _ in range(_TURNS):
        caught, every = (float(counts[explained].sum()) for counts in (certain, certain + unseen))
        share = max((caught + _WORTH_EVICTIONS * _BEFORE) / (every + _WORTH_EVICTIONS), _LEAST)
        before, explained = explained, _explained(certain, unseen, share)
        if np.array_equal(before, explained):
            break
    return share, explained


def _explained(certain: Array, unseen: Array, share: float) -> npt.NDArray[np.bool_]:
    """Whether descriptions that catch a share of the evictions explain the unseen ids of each group."""
    some = np.maximum(certain, 1.0)  # a group without a certain one may have had one all the same
    missed = some * (1.0 - share) / share
    return np.asarray(unseen <= missed + _EXPLAINED_SD * np.sqrt(missed / share))
