"""What `bench.cycle` sees of the operator from outside: its page of metrics, the audit log, its probe.

All of it is what others read in a cluster, and about as often, so that looking costs the operator no more than there.
"""

import re
import threading
import time
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final, Self

from heartbeat_tuner.api.v1alpha1.spec_v1alpha1 import PLURAL
from heartbeat_tuner.domain.verdicts import Verdict
from sandbox import audit
from sandbox.audit import Write
from sandbox.environment import OPERATOR_USERS
from sandbox.scenario import Operator

PAGE_EVERY_S: Final = 10.0
"""With thousands of policies the page is megabytes: it is not asked for more often than a Prometheus would."""

PAGE_TIMEOUT_S: Final = 30.0
_COUNTED: Final = {
    "cycles": "heartbeat_tuner_cycle_duration_seconds_count",
    "cycles_s": "heartbeat_tuner_cycle_duration_seconds_sum",
    "requests": "heartbeat_tuner_prometheus_requests_total",
}
_LAGS: Final = re.compile(r'^heartbeat_tuner_event_loop_lag_seconds_bucket\{le="(\S+)"\} (\S+)$', re.MULTILINE)
_LOST: Final = "leadership lost"

_PROBE_EVERY_S: Final = 10.0
_PROBE_TIMEOUT_S: Final = 5.0
_PROBE_FAILURES: Final = 3
"""As the chart's liveness probe."""

Key = tuple[str, str]
"""Namespace and name of a policy."""


@dataclass(frozen=True)
class Passed:
    """What the operator had done since its start, by its own account.

    Attributes:
        cycles: finished.
        cycles_s: their lengths together.
        requests: to Prometheus.
    """

    cycles: float
    cycles_s: float
    requests: float

    @classmethod
    def parsed(cls, page: str) -> "Passed | None":
        """Return what a page of metrics says; None if it does not."""
        found = {name: re.search(rf"^{metric} (\S+)$", page, flags=re.MULTILINE) for name, metric in _COUNTED.items()}
        values = {name: float(match[1]) for name, match in found.items() if match is not None}
        return cls(**values) if len(values) == len(_COUNTED) else None

    @classmethod
    def by(cls, operator: Operator) -> "Passed | None":
        """Return what an operator says now; None if it does not answer."""
        return cls.parsed(operator.page("/metrics", timeout_s=PAGE_TIMEOUT_S))


class Statuses:
    """What the operators wrote, by the audit log, from where it ends now.

    Args:
        audit_log: where it is.
        users: who they are.

    Attributes:
        verdicts: what each policy's status says last.
        known_at: when each policy's verdict was first another one than Unknown.
        followed_at: when each policy's status was first about a generation of its spec.
        writes: how many writes of theirs were stored, by resource; those of the lease are left out.
    """

    def __init__(self, audit_log: Path, users: Collection[str] = OPERATOR_USERS) -> None:
        self._tail = audit.Tail(audit_log)
        self._users = users
        self.verdicts: dict[Key, str] = {}
        self.known_at: dict[Key, datetime] = {}
        self.followed_at: dict[Key, dict[int, datetime]] = {}
        self.writes: Counter[str] = Counter()

    def read(self) -> Self:
        """Take in what was logged since the last time."""
        for write in self._tail.writes():
            if write.user in self._users and write.resource != "leases" and write.succeeded:
                self.take(write)
        return self

    def take(self, write: Write) -> None:
        """Take in one write of an operator."""
        self.writes[write.resource] += 1
        if (write.resource, write.subresource) != (PLURAL, "status"):
            return
        key, status = (write.namespace, write.name), write.stored.get("status", {})
        self.verdicts[key] = status.get("verdict", "")
        if self.verdicts[key] not in {"", Verdict.UNKNOWN}:
            self.known_at.setdefault(key, write.time)
        self.followed_at.setdefault(key, {}).setdefault(status.get("observedGeneration", 0), write.time)

    def followed(self, key: Key, generation: int) -> datetime | None:
        """Return when a policy's status was first about that generation, or a later one; None if it never was."""
        return min((at for number, at in self.followed_at.get(key, {}).items() if number >= generation), default=None)


class Liveness:
    """Asks the operators' `/healthz` as a kubelet does, and restarts nobody; a context manager.

    Attributes:
        failed: how often a kubelet would have restarted one of them.
    """

    def __init__(self, operators: Sequence[Operator]) -> None:
        self._operators = operators
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self.failed = 0

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        failures = [0] * len(self._operators)
        while not self._ended.wait(_PROBE_EVERY_S):
            for number, operator in enumerate(self._operators):
                well = operator.answers("/healthz", timeout_s=_PROBE_TIMEOUT_S)
                failures[number] = 0 if well else failures[number] + 1
                if failures[number] == _PROBE_FAILURES:
                    self.failed += 1
                    failures[number] = 0


def longest_lag_s(page: str) -> float | None:
    """Return what no delay of the event loop exceeded since the start, by a page of metrics; None if none was measured.

    It is a bound of the histogram, so that the longest delay lies between it and the bound before.
    """
    below = {float(bound): float(count) for bound, count in _LAGS.findall(page)}
    measured = max(below.values(), default=0.0)
    return min((bound for bound, count in below.items() if count == measured), default=None) if measured else None


def losses(operators: Sequence[Operator]) -> int:
    """Return how often they say to have lost the lease."""
    return sum(operator.log.read_text(errors="replace").count(_LOST) for operator in operators)


def await_cycles(operator: Operator, least: float, *, timeout_s: float) -> Passed:
    """Return what an operator has done, as soon as it has finished so many cycles since its start.

    Raises:
        RuntimeError: it did not in time, or has ended.
    """
    until_s = time.monotonic() + timeout_s
    passed = Passed.by(operator)
    while passed is None or passed.cycles < least:
        if time.monotonic() > until_s or not operator.process.alive():
            tail = operator.process.log_tail()
            raise RuntimeError(f"{operator.user}: {passed} is short of {least:.0f} cycles; its log ends:\n{tail}")
        time.sleep(PAGE_EVERY_S)
        passed = Passed.by(operator)
    return passed
