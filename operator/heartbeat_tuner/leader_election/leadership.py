"""Who may write: the rules of the election, as functions of what was seen of one lease and when. Pure.

Two clocks never meet here. A lease of another holder runs out by *our* monotonic clock, counted from when we first saw
its record as it stands; what the record says about times is for people. Our own leadership counts from before the
request that renewed it was sent, and ends `renew_deadline` later. A lease lasts longer than that, so an ex-holder has
stopped before anybody may take over, whatever the wall clocks do and however long a process stood still.

Several candidates may share an identity, and lead beside each other: to all others they are one holder. Each one's
leadership counts from its own request, or from a look: where the next look shows a version more of their lease, one of
them wrote it after the look before was sent.
"""

import dataclasses
import math
from datetime import timedelta
from typing import Final

from heartbeat_tuner.ports.leader_lease import Claim, Lease

RELEASED_FOR: Final = timedelta(seconds=1)
"""The shortest duration that the API server takes; a lease without a holder is free at once anyway."""


@dataclasses.dataclass(frozen=True, slots=True)
class Timing:
    """The times of an election, as client-go names them.

    Attributes:
        lease_duration: how long others wait for a holder that is silent.
        renew_deadline: how long a holder acts on one renewal; shorter than `lease_duration`.
        retry_period: between two looks or renewals; shorter than `renew_deadline`.
    """

    lease_duration: timedelta
    renew_deadline: timedelta
    retry_period: timedelta

    @property
    def request_timeout(self) -> timedelta:
        """For one request: a renewal that hangs leaves time for a second one before the deadline."""
        return self.renew_deadline / 2


@dataclasses.dataclass(frozen=True, slots=True)
class Standing:
    """What one candidate knows; moments are seconds of its own monotonic clock.

    Attributes:
        lease: as last seen; None if there was none.
        changed_at_s: when it was first seen in this version.
        leader_until_s: until when we lead; in the past while we do not.
        asked_at_s: when the request was about to be sent that showed the lease so; only of one that is shared.
    """

    lease: Lease | None = None
    changed_at_s: float = -math.inf
    leader_until_s: float = -math.inf
    asked_at_s: float = -math.inf

    def leads(self, now_s: float) -> bool:
        """Whether we lead at a moment."""
        return now_s < self.leader_until_s


def seen(standing: Standing, lease: Lease | None, *, identity: str, answered_at_s: float) -> Standing:
    """Return the standing after a look at the lease; who led stands down where another, or nobody, holds it.

    Args:
        standing: before the look.
        lease: what was found; None if there is none.
        identity: ours.
        answered_at_s: when the answer was here: not earlier, or another's lease would seem older than it is.
    """
    unchanged = standing.lease.is_same_as(lease) if standing.lease is not None else lease is None
    ours = lease is not None and lease.holder == identity
    return Standing(
        lease=lease,
        changed_at_s=standing.changed_at_s if unchanged else answered_at_s,
        leader_until_s=standing.leader_until_s if ours else -math.inf,
    )


def seen_shared(
    standing: Standing, lease: Lease | None, *, identity: str, timing: Timing, sent_at_s: float, answered_at_s: float
) -> Standing:
    """Return the standing after a look at a lease that others hold under our identity, too.

    A renewal by one of them prolongs a leadership that has not run out; else all would have to write all the time, and
    get in each other's way.

    Args:
        standing: before the look.
        lease: what was found; None if there is none.
        identity: ours and theirs.
        timing: of the election.
        sent_at_s: when the request was about to be sent.
        answered_at_s: when the answer was here.
    """
    updated = seen(standing, lease, identity=identity, answered_at_s=answered_at_s)
    renewed = standing.lease is not None and not standing.lease.is_same_as(lease)
    if renewed and updated.leads(answered_at_s):
        until_s = max(updated.leader_until_s, standing.asked_at_s + timing.renew_deadline.total_seconds())
        updated = dataclasses.replace(updated, leader_until_s=until_s)
    return dataclasses.replace(updated, asked_at_s=sent_at_s)


def claim(standing: Standing, *, identity: str, timing: Timing, now_s: float) -> Claim | None:
    """Return what to write into the lease to hold it from now on; None while another may hold it.

    A lease that was there and is gone may still be believed in by its holder, and is waited for like any other.
    """
    lease = standing.lease
    if lease is not None and lease.holder == identity:
        return Claim(identity, timing.lease_duration, lease.transitions)
    promised = timing.lease_duration if lease is None or lease.duration is None else lease.duration
    free = lease is not None and not lease.holder
    if not free and now_s < standing.changed_at_s + promised.total_seconds():
        return None
    return Claim(identity, timing.lease_duration, 0 if lease is None else lease.transitions + 1)


def granted(standing: Standing, stored: Lease, *, timing: Timing, sent_at_s: float, answered_at_s: float) -> Standing:
    """Return the standing after the API server took a claim.

    A leadership that ran out before the answer came is not prolonged: what was under way in it has to end first.

    Args:
        standing: before the answer.
        stored: the lease as it is now.
        timing: of the election.
        sent_at_s: when the request was about to be sent.
        answered_at_s: when the answer was here.
    """
    ran_out = standing.leader_until_s > -math.inf and not standing.leads(answered_at_s)
    return Standing(
        lease=stored,
        changed_at_s=answered_at_s,
        leader_until_s=-math.inf if ran_out else sent_at_s + timing.renew_deadline.total_seconds(),
        asked_at_s=sent_at_s,
    )


def stood_down(standing: Standing) -> Standing:
    """Return the standing of one who has noticed that it does not lead."""
    return dataclasses.replace(standing, leader_until_s=-math.inf)


def release(standing: Standing, *, identity: str) -> Claim | None:
    """Return what to write into the lease to give it back; None if it is not ours."""
    if standing.lease is None or standing.lease.holder != identity:
        return None
    return Claim("", RELEASED_FOR, standing.lease.transitions)
