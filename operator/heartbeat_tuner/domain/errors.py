"""What can go wrong, as sentences: one small family, raised by adapters and the boundary.

Each message says what was tried and what answered. `reconcile` turns them into conditions; none reaches a user as a
traceback.
"""

import enum
from http import HTTPStatus


class TunerError(Exception):
    """Something that a condition or the command line can explain."""


class InvalidPolicyError(TunerError):
    """A policy that the tuner cannot use; the message names field, value, rule and fix."""


class InvalidSettingsError(TunerError):
    """The operator's own configuration is not usable."""


class NotAllowedError(TunerError):
    """The operator's rights do not reach where its configuration sends it; the message names what to bind."""


class MetricsCause(enum.Enum):
    """Why Prometheus gave no usable answer: what a caller may do about it differs."""

    UNREACHABLE = enum.auto()  # no connection, or a gateway without a server behind it
    TIMEOUT = enum.auto()  # not all of an answer in time
    OVERLOADED = enum.auto()  # it asks for fewer requests; asked again already, as often as there was time
    TOO_MUCH = enum.auto()  # the answer would be larger than a limit, its own or ours: ask for less at a time
    REFUSED = enum.auto()  # our query, address, credentials or certificates are not good
    FAILED = enum.auto()  # an error of its own
    PARTIAL = enum.auto()  # an answer with warnings: part of the data is missing
    MALFORMED = enum.auto()  # an answer that is cut short, or none of the query API
    CLOCK = enum.auto()  # its clock is not ours


class MetricsUnavailableError(TunerError):
    """Prometheus gave no usable answer.

    Attributes:
        problem: what happened, as a sentence without the query.
        tried: what a person would try; a query may name what is not everybody's business. Empty where there is none.
        cause: what kind of failure.
    """

    def __init__(self, problem: str, *, tried: str = "", cause: MetricsCause = MetricsCause.UNREACHABLE) -> None:
        super().__init__(f"{problem}; tried {tried}" if tried else problem)
        self.problem = problem
        self.tried = tried
        self.cause = cause

    @property
    def partial(self) -> bool:
        """Whether it answered with warnings."""
        return self.cause is MetricsCause.PARTIAL


class ClusterUnreachableError(TunerError):
    """A Kafka cluster did not answer."""


class GroupConfigChangedError(TunerError):
    """A group's configuration is not what was expected: somebody set it meanwhile, and nothing was written."""


class GroupConfigRefusedError(TunerError):
    """Kafka refused new values of a group's configuration, and nothing was written."""


class NoTimeToWriteError(GroupConfigRefusedError):
    """Too little time is left of the leadership to begin a write; a moment later there may be more."""


class ApiServerError(TunerError):
    """The API server did not answer, or refused a request in a way that has no name of its own here.

    Attributes:
        status: what it answered; None if it did not.
    """

    def __init__(self, message: str, *, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status

    @property
    def refused(self) -> bool:
        """Whether it is sure that nothing was done: the request itself was at fault."""
        return self.status is not None and self.status < HTTPStatus.INTERNAL_SERVER_ERROR


class WriteConflictError(TunerError):
    """The object changed between reading and writing: nothing was written."""


class FieldOwnedError(TunerError):
    """Server-side apply met a field of another manager: nothing was written."""


class NotLeaderError(TunerError):
    """Another replica may lead by now: nothing more is written, and nothing is reported."""
