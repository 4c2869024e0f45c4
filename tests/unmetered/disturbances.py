"""What is no eviction for silence, or may be none, in a group without client metrics: no certain one may be seen.

Each disturbance has a group of its own, of the library that it is about; nothing is applied. The broker restarts last,
since all groups of the sandbox are its.
"""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from heartbeat_tuner.clients import catalogue
from heartbeat_tuner.domain.liveness import Setting
from sandbox import progress, request_log
from sandbox.environment import Sandbox
from sandbox.errors import SandboxError
from sandbox.producer import Trickle
from sandbox.request_log import RequestLog
from sandbox.scenario import Operator
from tests.e2e.operators import await_cycles
from tests.lab.rows import Row
from tests.unmetered import bound_command, described
from tests.unmetered.trial import Trial

LIBRARY: Final = "confluent-kafka-python"
"""It has a poll limit."""

FAILING_LIBRARY: Final = "kafkajs"
"""It starts its consumer again when a handler has failed for good."""

SESSION_MS: Final = 30_000
"""KafkaJS' default: its retries take some ten seconds, so it is in the group for less than a session each time."""

REPLICAS: Final = 2
"""Of `consumer.yaml`."""

FIRST_IDS: Final = 2
"""Each of the two processes may have had its first id for a session, before a message came that it failed at."""

POLL_LIMIT_MS: Final = 10_000
HANDLER_MS: Final = 20_000
"""Longer than M, so that the member leaves while it handles a message, and joins again after it."""

LASTS_S: Final = 90.0
"""Several handlers, one after the other."""

REOPEN_EVERY_S: Final = 8.0
"""On average; longer than a session, so that nobody was too young to have been evicted."""

REOPEN_AFTER_S: Final = 0.2
"""Between closing and making: with what it takes to join, some 0.3 s out of the group, as with TLS and brokers further
away. So some of a hundred descriptions meet it."""

REOPENING_FOR_S: Final = 180.0
"""Some forty times, of which descriptions five seconds apart meet two or three."""

AFTER_RESTART_S: Final = 110.0
"""Longer than what a description is doubtful for that."""

_Came = tuple[bool, dict[str, int]]
"""Whether it was what it should have been, and what else is worth a figure."""

_FAILING: Final = Path(__file__).parent / "failing_consumer.cjs"
_REOPENING: Final = Path(__file__).parent / "reopening_consumer.py"


def run(sandbox: Sandbox, operator: Operator, row: Row) -> Iterator[dict[str, Any]]:
    """Yield a row of the report for each disturbance of a library; there are none of most.

    Args:
        sandbox: its Prometheus scrapes the operator.
        operator: at work in it.
        row: of the library.
    """
    for library, name, act, alarms in (
        (FAILING_LIBRARY, "a handler fails for good", _failing, FIRST_IDS),
        (LIBRARY, "handlers longer than M", _slow_handlers, 0),
        (LIBRARY, "closed and opened again in the process", _reopened, 0),
        (LIBRARY, "the broker restarts", _restarted, 0),
    ):
        if library != row.client:
            continue
        try:
            line = _line(sandbox, operator, row, act, alarms)
        except SandboxError as error:
            line = {"ok": False, "error": " ".join(str(error).split())[:500]}
        yield {"client": row.client, "disturbance": name, **line}
        progress.say("unmetered", f"{name}: {line}")


def _line(
    sandbox: Sandbox, operator: Operator, row: Row, act: Callable[[Trial, RequestLog], _Came], alarms: int
) -> dict[str, Any]:
    """Return what came of one disturbance: a new id that was called certain is a false alarm; so many are expected."""
    trial = Trial(sandbox, row, purpose="disturbed")
    log = RequestLog(sandbox.kafka.request_log)
    try:
        is_ok, more = act(trial, log)
        await_cycles(operator, 2)
        certain, doubtful, unseen = (trial.counted(certainty) for certainty in ("certain", "doubtful", "unseen"))
    finally:
        trial.team.delete()
    return {
        "evictions_seen": certain,
        "doubtful": doubtful,
        "unseen": unseen,
        "false_alarms": certain,
        **more,
        "ok": is_ok and certain <= alarms,
    }


def _failing(trial: Trial, log: RequestLog) -> _Came:
    """Let each message fail for good; return whether members left for that, and were seen to come back."""
    *start, program = bound_command.command(trial.row)
    more = {"KAFKA_SESSION_TIMEOUT_MS": str(SESSION_MS), "NODE_PATH": str(Path(program).parent / "node_modules")}
    trial.deploy(mode="Recommend", more=more, command=[*start, str(_FAILING)])
    began_s = time.time()
    with Trickle(trial.team.sandbox.kafka.bootstrap, trial.team.name, every_s=0.5):
        time.sleep(2 * LASTS_S)
    left = request_log.left(log.read_new(), trial.team.name, began_s, time.time())
    return len(left) > FIRST_IDS and trial.counted("doubtful") > 0, {}


def _slow_handlers(trial: Trial, log: RequestLog) -> _Came:
    """Let handlers take longer than M; return whether members left for that, and were seen to come back."""
    variable = catalogue.client(trial.row.client).env_preset[Setting.MAX_POLL_INTERVAL]
    slow = {variable: str(POLL_LIMIT_MS), "HANDLER": "wait", "HANDLER_MS": str(HANDLER_MS)}
    trial.deploy(mode="Recommend", more=slow)
    began_s = time.time()
    with Trickle(trial.team.sandbox.kafka.bootstrap, trial.team.name, every_s=1.0):
        time.sleep(LASTS_S)
    left = request_log.left(log.read_new(), trial.team.name, began_s, time.time())
    return bool(left) and trial.counted("doubtful") > 0, {}


def _reopened(trial: Trial, log: RequestLog) -> _Came:
    """Let consumers be closed and made again; return whether they left the group for that, and were seen to be back."""
    program = [*bound_command.command(trial.row)[:-1], str(_REOPENING)]
    how = {"REOPEN_EVERY_S": str(REOPEN_EVERY_S), "REOPEN_AFTER_S": str(REOPEN_AFTER_S)}
    trial.deploy(mode="Recommend", more=how, command=program)
    began_s = time.time()
    time.sleep(REOPENING_FOR_S)
    left = request_log.left(log.read_new(), trial.team.name, began_s, time.time())
    with trial.team.sandbox.kafka.request_log.open(errors="replace") as lines:
        met = described.fewer(lines, trial.team.name, began_s, members=REPLICAS)
    seen = trial.counted("doubtful") + trial.counted("unseen")
    return bool(left) and seen > 0, {"left": len(left), "descriptions_that_met_it": met}


def _restarted(trial: Trial, _log: RequestLog) -> _Came:
    """Restart the broker under a calm group."""
    trial.deploy(mode="Recommend")
    time.sleep(LASTS_S / 3)
    trial.team.sandbox.kafka.stop()
    trial.team.sandbox.kafka.start()
    time.sleep(AFTER_RESTART_S)
    return True, {}
