"""What became of one policy in one cycle: the input of its report."""

import dataclasses

from heartbeat_tuner.decision.input import DecisionInput
from heartbeat_tuner.domain.kafka_groups import GroupWrite
from heartbeat_tuner.domain.liveness import LivenessSettings
from heartbeat_tuner.domain.policies import Application, Intent, ObjectKey
from heartbeat_tuner.domain.verdicts import LEAVES_THE_VALUES, Decision, Finding
from heartbeat_tuner.domain.verifications import Canary


@dataclasses.dataclass(frozen=True, slots=True)
class Blocked:
    """There was nothing to decide on: the policy, or something it names, is not there or not usable."""

    finding: Finding


@dataclasses.dataclass(frozen=True, slots=True)
class Decided:
    """A decision was made and, where it asked for it, carried out.

    Attributes:
        inputs: what it rests on.
        decision: the decision.
        application: what was written in this cycle; None if nothing was.
        failure: why a write that was due did not happen; None if it did or none was due.
        in_doubt: nobody answered the write: it may have happened all the same.
        intent: of that write, as the policy's status has it since before; None where none was noted in this cycle.
        canary: that was begun in this cycle instead of a write; None if none was.
        group_write: into the group's configuration, as it is known after this cycle; None where nothing was tried.
        altered: whether it was done in this cycle.
    """

    inputs: DecisionInput
    decision: Decision
    application: Application | None = None
    failure: Finding | None = None
    in_doubt: bool = False
    intent: Intent | None = None
    canary: Canary | None = None
    group_write: GroupWrite | None = None
    altered: bool = False

    @property
    def last_group_write(self) -> GroupWrite | None:
        """The newest write into the group's configuration: this cycle's, or the one the status remembers."""
        return self.group_write or self.inputs.policy.group_write

    @property
    def open_intent(self) -> Intent | None:
        """A write of which nobody knows whether it was done; this cycle's, or an earlier one's."""
        if self.intent is None:
            return self.inputs.policy.intent
        return self.intent if self.in_doubt else None

    @property
    def key(self) -> ObjectKey:
        """Of the policy."""
        return self.inputs.policy.key

    @property
    def current(self) -> LivenessSettings | None:
        """What is set now; None while the pods differ, or the broker does not say its part."""
        current = self.inputs.workload.current
        return None if current is None or current.is_unread else current.settings

    @property
    def is_well(self) -> bool:
        """Whether the group needs nothing: no values are known to be better than those set."""
        return self.decision.verdict in LEAVES_THE_VALUES and self.decision.target is None

    @property
    def may_have_begun(self) -> bool:
        """Whether a rollout began in this cycle, for all that is known."""
        return self.application is not None or self.in_doubt or self.canary is not None

    @property
    def last_application(self) -> Application | None:
        """The newest change: this cycle's, or the one the status remembers."""
        return self.application or self.inputs.policy.application


@dataclasses.dataclass(frozen=True, slots=True)
class UnexpectedFailure:
    """Something that nobody foresaw was raised: the policy is left as it stands until the next cycle."""

    error: Exception


@dataclasses.dataclass(frozen=True, slots=True)
class NotRead:
    """The group's turn to be read did not come in this cycle: the status stands as it is."""


Outcome = Blocked | Decided
Result = Outcome | NotRead | UnexpectedFailure
"""What a cycle made of a policy."""
