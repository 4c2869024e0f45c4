"""What both kinds of coordinator do: sessions, who is in, who goes, who comes back."""

import abc
import math

from heartbeat_tuner.simulation.beats import Cadence
from heartbeat_tuner.simulation.event_queue import Events
from heartbeat_tuner.simulation.member import SimulatedMember
from heartbeat_tuner.simulation.meter import Cause, Meter
from heartbeat_tuner.simulation.terms import Terms


class Coordinator(abc.ABC):
    """The group as its coordinator sees it.

    Attributes:
        members: those in the group, dead ones among them until their session ends.
        pool: partitions that nobody holds.
    """

    def __init__(self, terms: Terms, partitions: int, *, events: Events, meter: Meter, cadence: Cadence) -> None:
        self.terms = terms
        self.partitions = partitions
        self.events = events
        self.meter = meter
        self.cadence = cadence
        self.members: list[SimulatedMember] = []
        self.pool = partitions

    @property
    @abc.abstractmethod
    def quiet(self) -> bool:
        """Whether nothing goes on in the group."""

    @abc.abstractmethod
    def settled(self, members: list[SimulatedMember]) -> None:
        """Begin with so many members, all of them served."""

    @abc.abstractmethod
    def join(self, member: SimulatedMember, cause: Cause) -> None:
        """Take in a process under a new member id."""

    @abc.abstractmethod
    def returned(self, member: SimulatedMember) -> None:
        """Let a process with a static id come back."""

    def stir(self) -> None:
        """Give members any phase: hours lie between what happens to a real group, and its clocks have drifted apart."""
        for member in self.members:
            if not member.silent:
                member.beat_at = self.events.now - self.cadence.any_phase()

    @abc.abstractmethod
    def _removed(self, member: SimulatedMember, cause: Cause) -> None:
        """Do what follows when a member is out."""

    @abc.abstractmethod
    def _back(self, member: SimulatedMember) -> None:
        """Do what follows when a member that was silent is heard again, and still in."""

    @abc.abstractmethod
    def _standing(self, member: SimulatedMember) -> tuple[int, Cause]:
        """Return how many partitions of a member that works stand still all the same, and why."""

    def metered(self, member: SimulatedMember) -> None:
        """Tell the meter how many of a member's partitions stand still."""
        if member.working and member.alive:
            self.meter.stand(member, *self._standing(member))
        else:
            self.meter.stand(member, member.owned, member.cause)

    def silence(
        self, member: SimulatedMember, cause: Cause, *, age_s: float | None = None, works: bool = False
    ) -> None:
        """Let no beat of a member arrive from now on.

        Args:
            member: in the group.
            cause: why.
            age_s: of its last beat; by its cadence, if not given.
            works: it goes on reading.
        """
        age_s = self.cadence.beat(self.events.now - member.beat_at).age_s if age_s is None else age_s
        member.beat_at = self.events.now - age_s
        member.silent, member.working, member.cause = True, works, cause
        member.stint += 1
        if not member.joined:  # who waits for a rebalance to end is in until then
            self._await_expiry(member, member.beat_at + self.terms.session_s)
        self.metered(member)

    def wake(self, member: SimulatedMember) -> None:
        """Let a process go on whose next beat is yet to come; what it holds it reads again."""
        member.working = True
        self.metered(member)

    def hear(self, member: SimulatedMember) -> None:
        """Let beats of a member arrive again, the first one now; one that is out joins when it polls."""
        member.silent, member.working = False, True
        member.beat_at = self.events.now
        member.stint += 1
        if member.in_group:
            self.metered(member)
            self._back(member)
        else:
            self.come_back(member)

    def come_back(self, member: SimulatedMember) -> None:
        """Let a process that was thrown out join when it polls next."""
        member.stint += 1
        stint = member.stint

        def join() -> None:
            if member.stint == stint and member.alive and not member.in_group:
                self.join(member, member.cause)

        self.events.at(max(self.events.now + self.cadence.until_poll(), member.busy_until), join)

    def leave(self, member: SimulatedMember, cause: Cause) -> None:
        """Let a member go that says so; its partitions are nobody's."""
        member.in_group = False
        member.stint += 1
        self.members.remove(member)
        freed = member.owned + member.coming
        member.owned = member.warming = member.coming = 0
        member.joined = False
        self.metered(member)
        self.free(freed, cause)
        self._removed(member, cause)

    def evict(self, member: SimulatedMember, cause: Cause) -> None:
        """Throw out a member that lives."""
        self.meter.evictions[cause] += 1
        self.leave(member, cause)

    def free(self, partitions: int, cause: Cause) -> None:
        """Make partitions nobody's, or take them from there."""
        self.pool += partitions
        self.meter.stand("pool", self.pool, cause)

    def _await_expiry(self, member: SimulatedMember, time_s: float) -> None:
        stint = member.stint

        def expire() -> None:
            if member.stint == stint and member.in_group and member.silent:
                self._expired(member)

        if time_s < math.inf:
            self.events.at(time_s, expire)

    def _expired(self, member: SimulatedMember) -> None:
        cause = member.cause
        if member.gone_at is None:
            self.evict(member, cause)
            return
        self.meter.detections_s[cause].append(self.events.now - member.gone_at)
        self.leave(member, cause)
