"""What happens to the group: each happening of a profile takes members away and brings them back."""

import math
from collections.abc import Callable

from heartbeat_tuner.clients.client import Hung
from heartbeat_tuner.domain.durations import DAY_S
from heartbeat_tuner.models.failure_profile import Delivery, FailureProcess, Profile, Rebalancing
from heartbeat_tuner.simulation.beats import Cadence, FetchLoop
from heartbeat_tuner.simulation.chance import Chance
from heartbeat_tuner.simulation.coordinator import Coordinator
from heartbeat_tuner.simulation.member import SimulatedMember
from heartbeat_tuner.simulation.meter import Cause
from heartbeat_tuner.simulation.terms import Terms
from heartbeat_tuner.tails.law import Law

LEAST_SESSION_S = 6.0  # group.min.session.timeout.ms

_RETRIES_LAST_S = 1.0  # reconnect.backoff.max.ms of Java: within so long after an outage a beat is tried again
_PROBE_S = 10.0  # the period of a readiness probe, by default
_PROBES = 360

Fail = Callable[[float], None]


class Failures:
    """The fate of one group."""

    def __init__(
        self, profile: Profile, terms: Terms, *, coordinator: Coordinator, cadence: Cadence, chance: Chance
    ) -> None:
        self._profile = profile
        self._terms = terms
        self._coordinator = coordinator
        self._events = coordinator.events
        self._meter = coordinator.meter
        self._cadence = cadence
        self._chance = chance
        self._seats = [self._newcomer() for _ in range(profile.members)]
        for member in self._seats:
            member.beat_at = -cadence.any_phase()
        coordinator.settled(self._seats)

    def plan(self, days: float, *, rollouts: bool) -> None:
        """Draw when everything happens, and for how long.

        Args:
            days: for so many.
            rollouts: restarts come as deploys: one pod after the other, all of them.
        """
        profile, members = self._profile, self._profile.members
        self._poisson(profile.pauses, members, days, self._pause)
        self._poisson(profile.node_pauses, 1, days, self._node_pause)
        self._poisson(profile.outages, 1, days, self._outage)
        self._poisson(profile.crashes, members, days, self._crash)
        self._poisson(profile.hangs, members, days, self._hang)
        if rollouts:
            for time_s in self._chance.arrivals(profile.restarts.per_day, days):
                self._events.at(float(time_s), lambda: self._roll(0, 0))
        else:
            self._poisson(profile.restarts, members, days, self._restart)
        self._plan_slow_handlers(days)

    def _plan_slow_handlers(self, days: float) -> None:
        """Draw the handlers, or turns of a loop, that are so long that they may cost a member its place."""
        profile, members, slow = self._profile, self._profile.members, self._profile.slow_handlers
        if isinstance(self._cadence, FetchLoop):
            bearable_s = max(self._terms.session_s - self._terms.interval_s, 0.0)
            per_day = DAY_S / self._terms.turns.mean_s
            if slow is None:
                slow = FailureProcess(per_day * (1.0 - profile.idle_turns), profile.handlers)
            idle = FailureProcess(per_day * profile.idle_turns, Law.constant(self._terms.wait_s))
            self._poisson(slow, members, days, self._slow_turn, above_s=bearable_s)
            self._poisson(idle, members, days, self._slow_turn, above_s=bearable_s)
        elif slow is not None:  # one that is not too long still keeps a rebalance waiting
            self._poisson(slow, members, days, self._slow_handler)
        elif self._terms.poll_limit_s < math.inf:
            slow = FailureProcess(DAY_S / profile.handlers.mean_s, profile.handlers)
            self._poisson(slow, members, days, self._slow_handler, above_s=self._terms.poll_limit_s)

    def _poisson(self, what: FailureProcess, times: int, days: float, befall: Fail, *, above_s: float = 0.0) -> None:
        per_day = what.per_day * times * float(what.law.sf(above_s))
        moments = self._chance.arrivals(per_day, days)
        lengths = self._chance.times(what.law, len(moments), above_s=above_s)
        for moment, length in zip(moments.tolist(), lengths.tolist(), strict=True):
            self._events.at(moment, lambda length=length: befall(length))  # type: ignore[misc]

    def _newcomer(self) -> SimulatedMember:
        return SimulatedMember(beat_at=self._events.now)

    def _anybody(self) -> int:
        return min(int(self._chance.share() * len(self._seats)), len(self._seats) - 1)

    def _hit(self, seat: int) -> SimulatedMember | None:
        """Return the member of a seat, if something new can happen to it."""
        member = self._seats[seat]
        if not member.well or member.busy_until > self._events.now:
            return None
        if self._coordinator.quiet:
            self._coordinator.stir()
        return member

    def _own(self, member: SimulatedMember, away_s: float) -> None:
        """Count what no setting changes; where nobody can take over, that is all of an absence."""
        alone = len(self._seats) == 1
        self._meter.own_s += member.owned * (away_s if alone else min(away_s, LEAST_SESSION_S))

    def _pause(self, away_s: float) -> None:
        self._stop([self._anybody()], away_s, Cause.PAUSES)

    def _node_pause(self, away_s: float) -> None:
        seats = self._chance.numbers.permutation(len(self._seats))[: self._profile.node_members].tolist()
        self._stop(seats, away_s, Cause.NODE_PAUSES)

    def _stop(self, seats: list[int], away_s: float, cause: Cause) -> None:
        for member in [self._hit(seat) for seat in seats]:
            if member is not None:
                self._own(member, away_s)
                self._stand_still(member, cause, away_s)

    def _stand_still(self, member: SimulatedMember, cause: Cause, away_s: float) -> None:
        """Stop a process. A clock beats as soon as it wakes; a loop must end its turn first."""
        if not isinstance(self._cadence, FetchLoop):
            self._silence(member, cause, away_s)
            return
        beat = self._cadence.beat(0.0)
        self._silence(member, cause, away_s + beat.rest_s, age_s=beat.age_s)
        self._events.after(away_s, lambda: self._coordinator.wake(member))

    def _silence(
        self, member: SimulatedMember, cause: Cause, away_s: float, *, age_s: float | None = None, works: bool = False
    ) -> None:
        self._coordinator.silence(member, cause, age_s=age_s, works=works)
        self._events.after(away_s, lambda: self._coordinator.hear(member))

    def _outage(self, away_s: float) -> None:
        """Cut the whole group off; what is not read meanwhile no setting changes."""
        if self._coordinator.quiet:
            self._coordinator.stir()
        self._meter.mute(muted=True)
        self._events.after(away_s, lambda: self._meter.mute(muted=False))
        for member in list(self._coordinator.members):
            if not member.well:
                continue
            beat = self._cadence.beat(self._events.now - member.beat_at)
            silent_s = self._silent_s(away_s, beat.rest_s)
            if silent_s > 0:
                self._silence(member, Cause.OUTAGES, silent_s, age_s=beat.age_s, works=True)

    def _silent_s(self, away_s: float, rest_s: float) -> float:
        """Return for how long no beat of a member arrives whose next one was due so soon."""
        delivery = self._profile.delivery
        if away_s <= rest_s:
            return 0.0  # no beat fell into it
        if delivery is Delivery.LATE:
            return away_s
        if delivery is Delivery.RETRIED:
            return away_s + self._chance.share() * _RETRIES_LAST_S
        if delivery is Delivery.NEXT_TICK:
            return rest_s + math.ceil((away_s - rest_s) / self._terms.period_s) * self._terms.period_s
        return max(away_s, rest_s + self._terms.session_s)

    def _crash(self, away_s: float) -> None:
        seat = self._anybody()
        member = self._hit(seat)
        if member is not None:
            self._die(seat, member, away_s, Cause.CRASHES)

    def _die(self, seat: int, member: SimulatedMember, away_s: float, cause: Cause) -> None:
        """End a process without a word to the group; one with a static id comes back to what it had."""
        member.alive, member.gone_at = False, self._events.now
        self._own(member, away_s)
        self._coordinator.silence(member, cause)
        if not self._terms.static:
            self._events.after(away_s, lambda: self._replace(seat, cause))
            return
        session_over = member.beat_at + self._terms.session_s
        if self._terms.rebalancing is Rebalancing.CONSUMER and cause is Cause.CRASHES:
            away_s = max(away_s, session_over - self._events.now)  # its id is refused until then
        self._events.after(away_s, lambda: self._return(member))

    def _replace(self, seat: int, cause: Cause) -> None:
        self._seats[seat] = self._newcomer()
        self._coordinator.join(self._seats[seat], cause)

    def _return(self, member: SimulatedMember) -> None:
        member.alive = member.working = True
        member.silent, member.gone_at = False, None
        member.beat_at = self._events.now
        member.stint += 1
        self._coordinator.metered(member)
        self._coordinator.returned(member)

    def _restart(self, away_s: float) -> None:
        seat = self._anybody()
        member = self._hit(seat)
        if member is not None:
            self._close(seat, member, away_s)

    def _close(self, seat: int, member: SimulatedMember, away_s: float) -> None:
        if self._profile.surge and not self._terms.static:
            self._replace(seat, Cause.RESTARTS)
            self._events.after(away_s, lambda: self._leave(member))
        elif self._terms.static or not self._terms.leaves_on_close:
            self._die(seat, member, away_s, Cause.RESTARTS)
        else:
            self._leave(member)
            self._events.after(away_s, lambda: self._replace(seat, Cause.RESTARTS))

    def _leave(self, member: SimulatedMember) -> None:
        member.alive, member.gone_at, member.cause = False, self._events.now, Cause.RESTARTS
        if not member.in_group:
            return
        if self._terms.leaves_on_close:
            self._coordinator.leave(member, Cause.RESTARTS)
        else:
            self._coordinator.silence(member, Cause.RESTARTS)

    def _roll(self, seat: int, probes: int) -> None:
        """Restart one pod after the other, each when the group has come to rest after the one before."""
        if seat == len(self._seats):
            return
        member = self._seats[seat]
        if probes < _PROBES and not (member.well and self._coordinator.quiet):
            self._events.after(_PROBE_S, lambda: self._roll(seat, probes + 1))
            return
        if seat == 0:
            self._meter.rollouts += 1
            self._coordinator.stir()
        if member.well:
            away_s = float(self._chance.times(self._profile.restarts.law, 1)[0])
            self._close(seat, member, away_s)
            self._events.after(away_s + _PROBE_S, lambda: self._roll(seat + 1, 0))
        else:
            self._roll(seat + 1, 0)

    def _hang(self, away_s: float) -> None:
        member = self._hit(self._anybody())
        if member is None:
            return
        member.gone_at = self._events.now
        if isinstance(self._cadence, FetchLoop) and self._terms.hung is Hung.PLACEMENT:
            self._coordinator.silence(member, Cause.HANGS, age_s=self._cadence.age_at_start())
        else:
            member.working, member.cause = False, Cause.HANGS
            member.busy_until = self._events.now + away_s
            self._coordinator.metered(member)
            self._leave_at_limit(member, away_s)
        self._events.after(away_s, lambda: self._return(member))

    def _slow_handler(self, busy_s: float) -> None:
        member = self._hit(self._anybody())
        if member is None:
            return
        member.cause = Cause.SLOW_HANDLERS
        member.busy_until = self._events.now + busy_s
        self._leave_at_limit(member, busy_s)
        if busy_s > self._terms.poll_limit_s:
            self._events.after(busy_s, lambda: self._return(member))

    def _slow_turn(self, turn_s: float) -> None:
        member = self._hit(self._anybody())
        if member is not None and isinstance(self._cadence, FetchLoop):
            self._silence(member, Cause.SLOW_HANDLERS, turn_s, age_s=self._cadence.age_at_start(), works=True)

    def _leave_at_limit(self, member: SimulatedMember, busy_s: float) -> None:
        """Let a member go that does not poll: it leaves, or it stops beating, and that takes S more."""
        stint = member.stint

        def leave() -> None:
            if member.stint != stint or not member.in_group:
                return
            if self._terms.static or self._terms.hung is Hung.STOPS:
                self._coordinator.silence(member, member.cause, age_s=0.0, works=member.working)
            elif member.gone_at is None:
                self._coordinator.evict(member, member.cause)
            else:
                self._meter.detections_s[member.cause].append(self._events.now - member.gone_at)
                self._coordinator.leave(member, member.cause)

        if busy_s > self._terms.poll_limit_s:
            self._events.after(self._terms.poll_limit_s, leave)
