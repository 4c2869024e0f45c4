"""What is said of something that is missing: how bad it is, of what, and what to do about it."""

import dataclasses
import enum

from heartbeat_tuner.doctor.fixes import Fix


class DoctorSeverity(enum.StrEnum):
    """How bad a finding is."""

    ERROR = "error"  # of something, nothing can be known
    WARNING = "warning"  # less can be known
    INFO = "info"  # nothing has to be done


@dataclasses.dataclass(frozen=True, slots=True)
class DoctorFinding:
    """Something that is missing or not as it should be.

    Attributes:
        id: stable, for programs.
        severity: how bad it is.
        subject: what it is about, in raw words of Prometheus' labels: groups, client ids, jobs.
        message: a sentence about the subject, which it does not repeat.
        fix: what to do about it; None where there is nothing to do.
    """

    id: str
    severity: DoctorSeverity
    subject: tuple[str, ...]
    message: str
    fix: Fix | None = None
