"""Canaries in the notation of a policy's status, and the tickets by which the webhook gives their values to pods.

The values go to one pod for each ticket, and the operator opens one ticket at a time. Who takes a ticket writes that
into a Lease, so that of several replicas of the webhook only one gives it away. The Lease stands beside those of slots.
"""

import dataclasses
from datetime import datetime, timedelta
from typing import Final

from heartbeat_tuner.api import slot_names
from heartbeat_tuner.api.applied import promise_status, promised, settings_of, timestamp, values_of
from heartbeat_tuner.api.slot_names import Owner
from heartbeat_tuner.api.standing_words import fitting
from heartbeat_tuner.api.v1alpha1.canary_v1alpha1 import CanarySpec, CanaryStatus
from heartbeat_tuner.api.v1alpha1.fields import GROUP
from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.policies import ObjectKey
from heartbeat_tuner.domain.verifications import Canary, CanaryPhase, CanaryRules, Outcome

TICKET_ANNOTATION: Final = f"{GROUP}/canary-ticket"
"""On the Lease: the newest ticket that was taken."""

SLOT_NUMBER: Final = 0
_LONGEST_WORKLOAD: Final = slot_names.LONGEST_NAME - len(".canary")
_DIGITS: Final = 10
"""Of seconds and numbers."""


@dataclasses.dataclass(frozen=True, slots=True)
class CanaryTicket:
    """The right to give a canary's values to one pod.

    Attributes:
        owner: the policy.
        lease: where it is noted who took it.
        canary: when the canary began, in Unix seconds.
        number: of the ticket; each is greater than the one before.
    """

    owner: Owner
    lease: ObjectKey
    canary: int
    number: int

    @property
    def text(self) -> str:
        """As the Lease has it."""
        return f"{self.canary}/{self.number}"

    def is_newer_than(self, text: str) -> bool | None:
        """Whether it comes after another that a Lease names; None where that is none."""
        canary, _, number = text.partition("/")
        if not (_is_number(canary) and _is_number(number)):
            return None
        return (self.canary, self.number) > (int(canary), int(number))


def ticket_of(canary: Canary, owner: Owner, workload: ObjectKey) -> CanaryTicket:
    """Return the ticket that is open."""
    place = slot_names.place_of(owner.uid, ObjectKey(workload.namespace, f"{workload.name[:_LONGEST_WORKLOAD]}.canary"))
    lease = ObjectKey(workload.namespace, place.id_of(SLOT_NUMBER))
    return CanaryTicket(owner, lease, int(canary.since.timestamp()), canary.ticket)


def canary_rules(spec: CanarySpec) -> CanaryRules:
    """Return how a policy wants new values to be tried."""
    return CanaryRules(int(spec.share.removesuffix("%")) / 100, durations.parse_days(spec.duration))


def canary_status(canary: Canary) -> CanaryStatus:
    """Return a canary in the API's notation: moments to the second."""
    return CanaryStatus(
        since=timestamp(canary.since),
        until=timestamp(canary.until),
        values=values_of(canary.values),
        previous=values_of(canary.previous),
        entries=dict(canary.entries),
        pods=canary.pods,
        workload_uid=canary.workload_uid,
        template=canary.template,
        spec=canary.spec,
        phase=canary.phase,
        message=fitting(canary.message),
        outcome=None if canary.outcome is None else canary.outcome.value,
        ticket=canary.ticket,
        replaced=canary.replaced or None,
        replaced_at=_text(canary.replaced_at),
        landed=_text(canary.landed),
        exposed_seconds=float(round(canary.exposed.total_seconds())),
        seen_until=_text(canary.seen_until),
        hits=_seconds(canary.hits_s, canary.since),
        others=_seconds(canary.others_s, canary.since),
        again=_text(canary.again),
        promise=promise_status(canary.promise),
        left_alone=canary.left_alone or None,
    )


def canary_of(noted: CanaryStatus) -> Canary | None:
    """Return the canary that is noted; None where it cannot be ours: its seconds are no numbers, say."""
    moments = (noted.since, noted.until, noted.replaced_at, noted.landed, noted.seen_until, noted.again)
    since, until, replaced_at, landed, seen_until, again = (
        None if text is None else datetime.fromisoformat(text) for text in moments
    )
    given = (since, until, replaced_at, landed, seen_until, again)
    if since is None or until is None or not all(moment is None or durations.may_be_ours(moment) for moment in given):
        return None
    if not all(_is_number(text) for text in (*noted.hits.split(), *noted.others.split())):
        return None
    outcomes = {outcome.value: outcome for outcome in Outcome}
    return Canary(
        since=since,
        until=until,
        values=settings_of(noted.values),
        previous=settings_of(noted.previous),
        entries=noted.entries,
        pods=noted.pods,
        workload_uid=noted.workload_uid,
        template=noted.template,
        spec=noted.spec,
        phase=CanaryPhase(noted.phase),
        message=noted.message,
        outcome=outcomes.get(noted.outcome or ""),
        ticket=noted.ticket,
        replaced=noted.replaced or "",
        replaced_at=replaced_at,
        landed=landed,
        exposed=timedelta(seconds=noted.exposed_seconds),
        seen_until=seen_until,
        hits_s=_moments_s(noted.hits, since),
        others_s=_moments_s(noted.others, since),
        again=again,
        promise=None if noted.promise is None else promised(noted.promise),
        left_alone=bool(noted.left_alone),
    )


def _text(moment: datetime | None) -> str | None:
    return None if moment is None else timestamp(moment)


def _seconds(times_s: tuple[float, ...], since: datetime) -> str:
    return " ".join(f"{max(0.0, at_s - since.timestamp()):.0f}" for at_s in times_s)


def _moments_s(text: str, since: datetime) -> tuple[float, ...]:
    return tuple(since.timestamp() + int(seconds) for seconds in text.split())


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= _DIGITS
