"""Names as people read them."""

from heartbeat_tuner.domain.liveness import Setting
from heartbeat_tuner.domain.policies import Range
from tests.support import worlds


def test_keys_and_workloads_read_as_kubectl_writes_them() -> None:
    """Sentences name objects the way a person looks for them."""
    policy = worlds.policy()
    assert str(policy.key) == "shop/orders"
    assert str(policy.workload) == "Deployment shop/orders-consumer"


def test_bounds_that_nobody_set_are_open() -> None:
    """A missing bound is no bound, and not zero."""
    assert worlds.policy().range_of(Setting.FETCH_WAIT) == Range(None, None)
