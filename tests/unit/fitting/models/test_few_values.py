"""Laws of handlers rest on few values, those of other absences on all that are rare."""

import pytest

from heartbeat_tuner.metrics.measured import ABSENCE, POLL_GAP
from heartbeat_tuner.tails.fit import threshold
from heartbeat_tuner.tails.model import TailModel
from tests.support import tenants


@pytest.mark.parametrize(
    ("client", "quantity", "few"), [("java", POLL_GAP, True), ("kafkajs", ABSENCE, True), ("java", ABSENCE, False)]
)
def test_what_handlers_take_is_fitted_to_the_longest(client: str, quantity: str, *, few: bool) -> None:
    """Of 23,000 values: a few hundred are near the limits that are asked for."""
    (model,) = tenants.models(tenants.rows("shop", 1), client=client, quantities=(quantity,)).values()
    tail = model.quantities[quantity].tail
    assert isinstance(tail, TailModel)
    assert (tail.exceedances <= threshold.MOST_EXCEEDANCES) is few
