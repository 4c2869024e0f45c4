"""The coordinator of KIP-848: it tells each member what it shall hold, and nobody waits for anybody.

A member hears in the answer to its next beat what it shall give up or get, and does so when it polls next. A partition
that moves stands still from when it was given up until its new holder got it; one whose holder is gone, from then on.
"""

from functools import partial

from heartbeat_tuner.simulation.coordinator import Coordinator
from heartbeat_tuner.simulation.event_queue import Action
from heartbeat_tuner.simulation.member import SimulatedMember, targets
from heartbeat_tuner.simulation.meter import Cause


class ConsumerCoordinator(Coordinator):
    """A group of the consumer protocol."""

    _cause = Cause.RESTARTS

    @property
    def quiet(self) -> bool:
        """Whether nothing goes on in the group."""
        shares = targets([member.owned for member in self.members], self.partitions) if self.members else []
        served = all(member.owned == share for member, share in zip(self.members, shares, strict=True))
        return served and not self.pool and not any(member.silent for member in self.members)

    def settled(self, members: list[SimulatedMember]) -> None:
        """Begin with so many members, all of them served."""
        self.members = list(members)
        for member, share in zip(members, targets([0] * len(members), self.partitions), strict=True):
            member.owned, member.in_group = share, True
        self.pool = 0

    def join(self, member: SimulatedMember, cause: Cause) -> None:
        """Take in a process under a new member id."""
        member.in_group = True
        member.beat_at = self.events.now
        self.members.append(member)
        self._moved(cause)

    def returned(self, member: SimulatedMember) -> None:
        """Let a process with a static id come back; a session that still runs keeps its partitions for it."""
        if not member.in_group:
            self.join(member, member.cause)
        else:
            self._back(member)

    def _removed(self, member: SimulatedMember, cause: Cause) -> None:
        self.meter.stand((member, "coming"), 0, cause)
        if self.members:
            self._moved(cause)

    def _back(self, member: SimulatedMember) -> None:
        if member.coming:
            self._later(member, 0.0, partial(self._got, member, member.coming))
        self._later(member, 0.0, partial(self._gave_up, member))

    def _standing(self, member: SimulatedMember) -> tuple[int, Cause]:
        return member.warming, member.cause

    def _moved(self, cause: Cause) -> None:
        self._cause = cause
        self.meter.rebalances += 1
        self._hand_out()
        for member, share in zip(self.members, self._shares(), strict=True):
            if member.owned + member.coming > share:
                self._later(member, None, partial(self._gave_up, member))

    def _shares(self) -> list[int]:
        return targets([member.owned + member.coming for member in self.members], self.partitions)

    def _hand_out(self) -> None:
        """Promise free partitions to those who have too few."""
        for member, share in zip(self.members, self._shares(), strict=True):
            given = min(share - member.owned - member.coming, self.pool)
            if given > 0:
                self._promise(member, given)

    def _promise(self, member: SimulatedMember, given: int) -> None:
        self.free(-given, self._cause)
        member.coming += given
        self.meter.stand((member, "coming"), member.coming, self._cause)
        self._later(member, None, partial(self._got, member, given))

    def _got(self, member: SimulatedMember, partitions: int) -> None:
        member.owned += partitions
        member.coming -= partitions
        self.meter.stand((member, "coming"), member.coming, self._cause)
        self.metered(member)

    def _gave_up(self, member: SimulatedMember) -> None:
        share = self._shares()[self.members.index(member)]
        excess = min(member.owned + member.coming - share, member.owned)
        if excess > 0:
            member.owned -= excess
            self.metered(member)
            self.free(excess, self._cause)
            self._hand_out()

    def _later(self, member: SimulatedMember, heard_in_s: float | None, then: Action) -> None:
        """Do something when a member hears with its next beat, and polls; if it is silent, when it is back."""
        if member.silent:
            return
        if heard_in_s is None:
            heard_in_s = self.cadence.beat(self.events.now - member.beat_at).rest_s
        stint = member.stint

        def poll() -> None:
            if member.stint != stint or not member.in_group:
                return
            if member.busy_until > self.events.now:
                self.events.at(member.busy_until, poll)
            else:
                then()

        self.events.after(heard_in_s + self.cadence.until_poll(), poll)
