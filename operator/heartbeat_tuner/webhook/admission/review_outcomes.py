"""What may become of a review: each pod that is asked about ends as one of these, and is counted as it."""

import dataclasses
import enum
from collections.abc import Sequence

from heartbeat_tuner.webhook.admission.review import Operation


class ReviewOutcome(enum.StrEnum):
    """What became of a review; in all but the first three the pod gets no id, and mostly starts as asked for.

    Values of mode Initial are set whatever becomes of the id, unless the answer fails as a whole.
    """

    CLAIMED = "claimed"  # it has a static id
    PROMISED = "promised"  # it gets one, and waits until the pod that has it is gone
    ORDINAL = "ordinal"  # it has a static id that ends in its own name's number
    VALUES_SET = "values-set"  # no policy gives it an id, and one its values
    VALUES_UNFIT = "values-unfit"  # likewise, but they do not fit what else is set in it
    NOT_ENROLLED = "not-enrolled"  # no policy gives its workload's pods static ids or values
    OTHER_INSTALLATION = "other-installation"  # its policies belong to another installation, whose webhook serves it
    SUSPENDED = "suspended"  # the policy says that nothing be done for now
    OWN_ID = "own-id"  # it sets the variable itself
    NO_CONTAINER = "no-container"  # it has none of the name that the policy says
    DRY_RUN = "dry-run"  # it would be considered, but nothing is created
    NO_SLOT = "no-slot"  # all are taken
    CONTENDED = "contended"  # others took what was to be had, as often as there was time
    FAILED = "failed"  # the API server did not answer, or refused
    TIMEOUT = "timeout"  # the answer was due before it was found
    NOT_READY = "not-ready"  # this replica has not seen all policies, pods and slots yet
    UNREADABLE = "unreadable"  # no review, or one of something else


@dataclasses.dataclass(frozen=True, slots=True)
class ReviewAnswer:
    """What a review is answered.

    Attributes:
        outcome: what became of it.
        patch: what is changed in the pod.
        message: what a person wants to know of it, as a sentence; empty where nothing is out of the ordinary.
    """

    outcome: ReviewOutcome
    patch: Sequence[Operation] = ()
    message: str = ""
