"""What the bench of slow handlers calls true."""

import dataclasses
from datetime import timedelta

import numpy as np
import pytest

from bench import fleets, policies, slow_handlers
from bench.fleets import Kind
from bench.observed import settings_of
from heartbeat_tuner.metrics.measured import ABSENCE, POLL_GAP
from heartbeat_tuner.tails.histogram import EDGES_S


def test_the_true_rate_is_what_a_poll_limit_is_judged_by() -> None:
    """Blocks with a gap over five minutes are the evictions that a limit of five minutes makes."""
    group = next(
        group for group in fleets.fleet("holdout", 60) if group.kind is Kind.SLOW and group.truth.client == "java"
    )
    limited = settings_of(group.truth)
    assert limited.max_poll_interval == timedelta(minutes=5)
    free = dataclasses.replace(limited, max_poll_interval=timedelta(days=1))
    late = [policies.outcome(group.truth, settings).evictions_per_month for settings in (limited, free)]
    true = slow_handlers.true_per_month(group, POLL_GAP)[int(np.searchsorted(EDGES_S, 300.0))]
    assert true == pytest.approx(late[0] - late[1], rel=0.1)


def test_slow_handlers_show_in_gaps_of_java_and_in_absences_of_kafkajs() -> None:
    """Other groups have none, or do not show them."""
    shown = {group.kind: slow_handlers.quantity_of(group) for group in fleets.fleet("holdout", 60)}
    assert {kind: quantity for kind, quantity in shown.items() if quantity} == {
        Kind.SLOW: POLL_GAP,
        Kind.KAFKAJS: ABSENCE,
    }
