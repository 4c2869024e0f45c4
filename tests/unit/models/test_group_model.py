"""What a model keeps of the one before it."""

import dataclasses
from datetime import timedelta

from heartbeat_tuner.models.group_model import EarlierTail, GroupModel, keeping
from heartbeat_tuner.tails.model import Rejected, RejectionReason
from tests.support import fitted

BAD = Rejected(RejectionReason.BAD_FIT, "Anderson-Darling 9.1")
GOOD = fitted.model()


def rejected(days_later: int, **changes: object) -> GroupModel:
    """Return a later model of the same group whose tail was rejected."""
    later = fitted.model(
        until=GOOD.until + timedelta(days=days_later), quantities={"absence": fitted.quantity(tail=BAD)}
    )
    return dataclasses.replace(later, **changes)  # type: ignore[arg-type]


def kept_of(model: GroupModel) -> EarlierTail | None:
    """Return what is kept of its absences."""
    return model.quantities["absence"].kept


def test_the_last_good_tail_stays_with_its_own_days() -> None:
    """The reason for the rejection stands beside it."""
    stored = keeping(rejected(1), GOOD)
    assert stored.quantities["absence"].tail == BAD
    assert kept_of(stored) == EarlierTail(fitted.TAIL, 2880.0, GOOD.since, GOOD.until, GOOD.fitted_at)
    assert stored.quantities["absence"].law == (fitted.TAIL, 2880.0)


def test_it_stays_over_several_rejections_but_not_for_ever() -> None:
    """Four half-lives."""
    stored = keeping(rejected(1), GOOD)
    assert kept_of(keeping(rejected(28), stored)) == kept_of(stored)
    assert kept_of(keeping(rejected(29), stored)) is None


def test_a_good_tail_needs_no_other() -> None:
    """It replaces what was there."""
    newer = fitted.model(until=GOOD.until + timedelta(days=1))
    assert keeping(newer, GOOD) == newer
    assert keeping(newer, keeping(rejected(1), GOOD)) == newer


def test_nothing_is_kept_of_another_client_cluster_or_schema() -> None:
    """Nor where there was nothing."""
    for changes in ({"client": "java"}, {"cluster": "main"}, {"schema": 2}):
        model = rejected(1, **changes)
        assert keeping(model, GOOD) == model
    model = rejected(1)
    assert keeping(model, None) == model
    assert keeping(model, fitted.model(quantities={})) == model
    assert keeping(model, rejected(0)) == model


def test_a_quantity_without_values_a_day_has_no_law() -> None:
    """Nothing could be said of how often."""
    assert fitted.quantity().law == (fitted.TAIL, 2880.0)
    assert fitted.quantity(group_days=0.0).law is None
    assert fitted.quantity(tail=BAD).law is None
    nothing = EarlierTail(fitted.TAIL, 0.0, GOOD.since, GOOD.until, GOOD.fitted_at)
    assert fitted.quantity(tail=BAD, kept=nothing).law is None
