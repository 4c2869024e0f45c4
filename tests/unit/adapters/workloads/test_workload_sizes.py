"""How many pods there may be, and how often that is asked."""

import pytest

from heartbeat_tuner.adapters.workloads.workload_sizes import RECENT_S, RecentSizes
from heartbeat_tuner.domain.errors import ApiServerError
from tests.support.slots import DEPLOYMENT, FakeSizes


async def test_a_size_is_asked_for_again_when_it_is_old() -> None:
    """And not before; what has failed is no answer."""
    now_s = 1000.0
    sizes = FakeSizes(3)
    recent = RecentSizes(sizes, monotonic=lambda: now_s)
    assert await recent.size("Deployment", DEPLOYMENT) == 3
    sizes.count = 5
    now_s += RECENT_S - 1
    assert await recent.size("Deployment", DEPLOYMENT) == 3
    now_s += 1
    sizes.error = ApiServerError("down")
    with pytest.raises(ApiServerError):
        await recent.size("Deployment", DEPLOYMENT)
    sizes.error = None
    assert await recent.size("Deployment", DEPLOYMENT) == 5
