"""What `bench.folklore` compares the engine's values with."""

import dataclasses

import numpy as np
import pytest

from bench import folklore, known_groups, observed
from bench.folklore import NAMED
from heartbeat_tuner.clients import catalogue
from heartbeat_tuner.models.failure_profile import FailureProcess
from heartbeat_tuner.tails.law import Law

NEVER = FailureProcess(0.0, Law.constant(1.0))


def test_the_accrual_detector_gets_the_true_gaps() -> None:
    """Mean and deviation of beats that were drawn, pause by pause."""
    pauses = FailureProcess(400.0, Law.lognormal(2.0, 0.6))
    truth = dataclasses.replace(known_groups.group(), pauses=pauses, node_pauses=NEVER, outages=NEVER)
    period_s = observed.period_s(truth.client, observed.settings_of(truth))
    rng = np.random.default_rng(1)
    paused = rng.random(400_000) < 400.0 * period_s / observed.DAY_S
    drawn = period_s + paused * rng.lognormal(np.log(2.0), 0.6, paused.size)

    mean_s, deviation_s = folklore.gaps(truth)

    assert mean_s == pytest.approx(drawn.mean(), rel=0.01)
    assert deviation_s == pytest.approx(drawn.std(), rel=0.05)


@pytest.mark.parametrize("named", NAMED, ids=lambda named: named.project)
def test_named_settings_are_some_that_the_library_takes(named: folklore.Named) -> None:
    """They are the values of the change, and the library's own for the rest."""
    chosen = folklore.settings(named)

    assert chosen.session_timeout.total_seconds() == named.session_s
    assert not catalogue.client(named.library).violations(chosen)
