"""One member of the group: the process, and what the coordinator knows of it."""

import dataclasses

from heartbeat_tuner.simulation.meter import Cause


@dataclasses.dataclass(slots=True, eq=False)
class SimulatedMember:
    """A member id and the process behind it.

    Attributes:
        beat_at: the time of some beat; others lie whole periods from it.
        owned: partitions that it holds.
        in_group: the coordinator knows it.
        alive: there is a process behind it.
        silent: no beat of it arrives.
        working: it reads its partitions, though perhaps nobody hears of it.
        busy_until: it does not poll before.
        joined: it waits for the rebalance that goes on to end.
        warming: partitions that it just got and does not read yet.
        coming: partitions that are its own as soon as it hears of them (KIP-848).
        stint: counts what overtakes plans: who was told something before it fell silent did not hear it.
        cause: why it is silent or does not work.
        gone_at: when it died or hung.
    """

    beat_at: float
    owned: int = 0
    in_group: bool = False
    alive: bool = True
    silent: bool = False
    working: bool = True
    busy_until: float = 0.0
    joined: bool = False
    warming: int = 0
    coming: int = 0
    stint: int = 0
    cause: Cause = Cause.PAUSES
    gone_at: float | None = None

    @property
    def well(self) -> bool:
        """Whether something new can happen to it."""
        return self.in_group and self.alive and self.working and not self.silent


def targets(held: list[int], partitions: int) -> list[int]:
    """Return how many partitions each member shall hold: as even as can be, and those who hold most keep most.

    Args:
        held: how many each holds now; not empty.
        partitions: of all of them and of nobody.
    """
    least, more = divmod(partitions, len(held))
    shares = [least] * len(held)
    for place in sorted(range(len(held)), key=lambda place: -held[place])[:more]:
        shares[place] += 1
    return shares
