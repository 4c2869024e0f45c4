"""The classic coordinator: whenever somebody comes or goes, all must join, and the last one lets them go on.

Members hear of a rebalance in the answer to their next beat, and join when they poll next. Eager ones have given up
everything by then, so they stand still until the barrier opens. Cooperative ones go on reading; but what moves needs a
second barrier, which those who gave something up stand at already, and all others have to hear of first.
"""

import enum

from heartbeat_tuner.models.failure_profile import Rebalancing
from heartbeat_tuner.simulation.beats import Cadence
from heartbeat_tuner.simulation.coordinator import Coordinator
from heartbeat_tuner.simulation.event_queue import Events
from heartbeat_tuner.simulation.member import SimulatedMember, targets
from heartbeat_tuner.simulation.meter import Cause, Meter
from heartbeat_tuner.simulation.terms import Terms

_FIRST_WAIT_S = 3.0  # group.initial.rebalance.delay.ms: who comes to an empty group waits for others


class _Stage(enum.Enum):
    EMPTY = "empty"
    STABLE = "stable"
    JOINING = "joining"


class ClassicCoordinator(Coordinator):
    """A group of the classic protocol."""

    def __init__(self, terms: Terms, partitions: int, *, events: Events, meter: Meter, cadence: Cadence) -> None:
        super().__init__(terms, partitions, events=events, meter=meter, cadence=cadence)
        self._eager = terms.rebalancing is Rebalancing.EAGER
        self._stage = _Stage.EMPTY
        self._round = 0
        self._opened = 0
        self._began = 0.0
        self._cause = Cause.RESTARTS
        self._awaited: set[SimulatedMember] = set()
        self._comes_at: dict[SimulatedMember, float] = {}
        self._held = False

    @property
    def quiet(self) -> bool:
        """Whether nothing goes on in the group."""
        return self._stage is _Stage.STABLE and not any(member.silent or member.warming for member in self.members)

    def settled(self, members: list[SimulatedMember]) -> None:
        """Begin with so many members, all of them served."""
        self.members = list(members)
        for member, share in zip(members, targets([0] * len(members), self.partitions), strict=True):
            member.owned, member.in_group = share, True
        self.pool = 0
        self._stage = _Stage.STABLE

    def join(self, member: SimulatedMember, cause: Cause) -> None:
        """Take in a process under a new member id: it waits for all others."""
        member.in_group = member.joined = True
        member.beat_at = self.events.now
        self.members.append(member)
        if self._stage is not _Stage.JOINING:
            self._begin(cause)

    def returned(self, member: SimulatedMember) -> None:
        """Let a process with a static id come back: the coordinator gives it what it had, if it still knows it."""
        if not member.in_group:
            self.join(member, member.cause)
        elif member in self._awaited:
            self._joined(member)

    def _begin(self, cause: Cause) -> None:
        self._held = self._stage is _Stage.EMPTY
        self._stage = _Stage.JOINING
        self._round += 1
        self._began, self._cause = self.events.now, cause
        self.meter.rebalances += 1
        self._awaited = {member for member in self.members if not member.joined}
        self._comes_at.clear()
        # Told in the order of the list: a set's order would differ from run to run.
        for member in self.members:
            if member in self._awaited and not member.silent:
                beat = self.cadence.beat(self.events.now - member.beat_at)
                self._told(member, self.events.now + beat.rest_s + self.cadence.until_poll())
        this_round = self._round
        self.events.after(
            _FIRST_WAIT_S if self._held else self.terms.join_limit_s, lambda: self._out_of_time(this_round)
        )
        self._open_if_all_joined()

    def _told(self, member: SimulatedMember, comes_at: float) -> None:
        this_round, stint = self._round, member.stint
        self._comes_at[member] = comes_at

        def come() -> None:
            if self._round != this_round or member.stint != stint or member not in self._awaited:
                return
            if member.busy_until > self.events.now:
                self._told(member, member.busy_until)
            else:
                self._joined(member)

        self.events.at(comes_at, come)

    def _joined(self, member: SimulatedMember) -> None:
        member.joined = True
        self._awaited.discard(member)
        self.metered(member)
        self._open_if_all_joined()

    def _out_of_time(self, of_round: int) -> None:
        """Go on without those who did not come in time; they come when they poll."""
        if self._round != of_round or self._stage is not _Stage.JOINING:
            return
        self._held = False
        for member in [simulated_member for simulated_member in self.members if simulated_member in self._awaited]:
            comes_at = self._comes_at.get(member)
            if member.gone_at is None:
                self.evict(member, Cause.SLOW_HANDLERS if not member.silent else member.cause)
            else:
                self._expired(member)
            if comes_at is not None and not member.silent:
                member.busy_until = max(member.busy_until, comes_at)
                self.come_back(member)
        self._open_if_all_joined()

    def _removed(self, member: SimulatedMember, cause: Cause) -> None:
        self._awaited.discard(member)
        if not self.members:
            if self._stage is _Stage.JOINING:
                self.meter.rebalancing_s += self.events.now - self._began
            self._stage = _Stage.EMPTY
        elif self._stage is _Stage.JOINING:
            self._open_if_all_joined()
        else:
            self._begin(cause)

    def _back(self, member: SimulatedMember) -> None:
        if member in self._awaited:
            self._told(member, self.events.now + self.cadence.until_poll())

    def _standing(self, member: SimulatedMember) -> tuple[int, Cause]:
        return (member.owned if member.joined and self._eager else member.warming), self._cause

    def _open_if_all_joined(self) -> None:
        if self._stage is _Stage.JOINING and not self._awaited and not self._held:
            self._open()

    def _open(self) -> None:
        """Let everybody go on with what is theirs now."""
        self._stage = _Stage.STABLE
        self._opened = self._round
        self.meter.rebalancing_s += self.events.now - self._began + self.terms.settle_s
        gave_up = self._shared_out()
        for member in self.members:
            member.joined = False
            if member.silent:
                self._await_expiry(member, self.events.now + self.terms.session_s)
            else:
                member.beat_at = self.events.now - (0.0 if self.terms.in_step else self.cadence.any_phase())
        this_round = self._round
        self.events.after(self.terms.settle_s, lambda: self._warm(this_round))
        if gave_up:
            for member in gave_up:
                member.joined = True
            self._begin(self._cause)
        for member in self.members:
            self.metered(member)

    def _shared_out(self) -> list[SimulatedMember]:
        """Share partitions out; return the members that have to give some up first, and did."""
        shares = targets([member.owned for member in self.members], self.partitions)
        gave_up, freed = [], 0
        for member, share in zip(self.members, shares, strict=True):
            if self._eager:
                member.owned = member.warming = share
                self.pool = 0
            elif member.owned > share:
                freed += member.owned - share
                member.owned = share
                gave_up.append(member)
            else:
                given = min(share - member.owned, self.pool)
                self.pool -= given
                member.owned += given
                member.warming += given
        self.free(freed, self._cause)
        return gave_up

    def _warm(self, of_round: int) -> None:
        """Let those partitions be read that were handed out; not those of a rebalance that has ended since.

        Of one that has only begun, members know nothing before their next beat.
        """
        if of_round != self._opened and self._eager:
            return
        for member in self.members:
            member.warming = 0
            self.metered(member)
