"""What can go wrong, as sentences: one small family, raised by adapters and the boundary.

Each message says what was tried and what answered. `reconcile` turns them into conditions; none reaches a user as a
traceback.
"""


class TunerError(Exception):
    """Something that a condition or the command line can explain."""


class InvalidPolicyError(TunerError):
    """A policy that the tuner cannot use; the message names field, value, rule and fix."""


class InvalidSettingsError(TunerError):
    """The operator's own configuration is not usable."""


class MetricsUnavailableError(TunerError):
    """Prometheus gave no usable answer; `partial` if it answered with warnings."""

    def __init__(self, message: str, *, partial: bool = False) -> None:
        super().__init__(message)
        self.partial = partial


class ClusterUnreachableError(TunerError):
    """A Kafka cluster did not answer."""


class ApiServerError(TunerError):
    """The API server did not answer, or refused a request in a way that has no name of its own here."""


class WriteConflictError(TunerError):
    """The object changed between reading and writing: nothing was written."""


class FieldOwnedError(TunerError):
    """Server-side apply met a field of another manager: nothing was written."""
