"""The arithmetic of the idle operator's bench."""

import os

import pytest

from bench.idle import Cost, Usage, usage


def test_the_second_half_tells_growth_from_warming_up() -> None:
    """Memory that rises at first and stays has a slope over all, and none in its second half."""
    rises = [Usage(at_s=10.0 * n, rss_mib=100.0 + min(n, 5), cpu_s=2.0 + 0.1 * n) for n in range(11)]
    cost = Cost.of("leader", rises)
    assert (cost.rss_start_mib, cost.rss_end_mib, cost.rss_max_mib) == (100.0, 105.0, 105.0)
    assert cost.rss_mib_per_hour > 100
    assert cost.rss_mib_per_hour_second_half == 0
    assert cost.cpu_s_per_minute == pytest.approx(0.6)


def test_a_steady_leak_shows_in_both_halves() -> None:
    """A mebibyte in ten seconds is 360 in an hour."""
    cost = Cost.of("leader", [Usage(at_s=10.0 * n, rss_mib=100.0 + n, cpu_s=0.0) for n in range(11)])
    assert (cost.rss_mib_per_hour, cost.rss_mib_per_hour_second_half) == (360, 360)


def test_usage_is_the_kernel_s_account() -> None:
    """This process has used memory and time; the fields are the right ones."""
    mine = usage(os.getpid(), at_s=3.0)
    times = os.times()
    assert mine.at_s == 3.0
    assert mine.rss_mib > 5
    assert mine.cpu_s == pytest.approx(times.user + times.system, abs=0.5)
