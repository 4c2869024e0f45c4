"""What `bench.react` measures of a fleet in memory, of a small one."""

from bench import react


async def test_the_look_at_one_policy_is_a_small_part_of_a_cycle() -> None:
    """By processor time, and by a large margin: with 10,000 policies it is a fortieth."""
    report = await react.looked(400)
    assert isinstance(report["cycle_over_look"], float)
    assert report["cycle_over_look"] > 4
