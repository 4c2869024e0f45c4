"""The values of this room: one description of a group, and what a description shows beside the one before."""

import dataclasses
import enum
from datetime import datetime, timedelta

from heartbeat_tuner.domain.evidence import Pod
from heartbeat_tuner.domain.kafka_groups import Group


@dataclasses.dataclass(frozen=True, slots=True)
class GroupView:
    """A group as it was described at one moment.

    Attributes:
        at: when the answer came.
        group: the description.
        pods: the workload's pods as Kubernetes shows them some seconds later, so that a restart that came before the
            description is known.
        disturbed: whether a description of the group failed since the view before.
    """

    at: datetime
    group: Group
    pods: tuple[Pod, ...]
    disturbed: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Timeouts:
    """What the members of a group run with.

    Attributes:
        session: session.timeout.ms; None where it is not known.
        poll_limit: max.poll.interval.ms; None where the client has none.
    """

    session: timedelta | None = None
    poll_limit: timedelta | None = None


class Certainty(enum.StrEnum):
    """How sure it is that a member which came back had been evicted for its silence."""

    CERTAIN = "certain"
    """The member was seen to be out of the group while its process lived, and nothing else explains it."""
    DOUBTFUL = "doubtful"
    """The process may have made another consumer, or may not have polled, or the coordinator was disturbed."""
    UNSEEN = "unseen"
    """No description shows the member out of its group for more than a moment, and nothing else is doubtful: an
    eviction between two of them, or a consumer that was closed and made again."""


class Doubt(enum.Enum):
    """Why a member that came back may not have been evicted for its silence."""

    REOPENED = "it was seen out of its group for a moment at most: its consumer may have been closed and made again"
    LONG_AWAY = "it was out of the group for so long that its consumer was probably closed and made again"
    POLL_LIMIT = "it may have been in its group for longer than the poll limit, so it may have left without polling"
    YOUNG = "it was in its group for less than the session timeout, so nobody can have removed it for its silence"
    STATIC = "a static member has a new id whenever it joins"
    COORDINATOR = "the coordinator moved, or did not describe the group, so members may have joined again for that"
    MASS_REJOIN = "all members have new ids, or were missing, at once, as after a restart of the broker or an outage"
    GAP = "the group was not described for too long"


@dataclasses.dataclass(frozen=True, slots=True)
class Rejoin:
    """A member of a living process that came back into its group: under a new id, or under its own where it keeps that.

    Attributes:
        at: the description that shows it back.
        pod: the pod's name.
        doubts: why this may be no eviction for silence; none where it is certain.
    """

    at: datetime
    pod: str
    doubts: frozenset[Doubt]

    @property
    def certainty(self) -> Certainty:
        """Whether anything but an eviction for silence explains it."""
        if self.doubts == {Doubt.REOPENED}:
            return Certainty.UNSEEN
        return Certainty.DOUBTFUL if self.doubts else Certainty.CERTAIN


@dataclasses.dataclass(frozen=True, slots=True)
class SeenRebalance:
    """One or more rebalances that no description tells apart.

    Attributes:
        at: the first description after it.
        at_least: between the first and the last description that show partitions being moved.
        at_most: between the descriptions around it; None where it began before the first.
    """

    at: datetime
    at_least: timedelta
    at_most: timedelta | None


GroupEvent = Rejoin | SeenRebalance
