"""The queue of what is going to happen."""

from heartbeat_tuner.simulation.event_queue import Events


def test_what_is_earlier_comes_first_and_of_two_at_once_the_one_asked_for_first() -> None:
    """Time decides, then the order of asking; what is over already happens now; what is too late does not."""
    events, seen = Events(), []
    events.at(2.0, lambda: seen.append(("second", events.now)))
    events.at(2.0, lambda: seen.append(("third", events.now)))
    events.at(1.0, lambda: events.at(0.5, lambda: seen.append(("first", events.now))))
    events.at(5.0, lambda: seen.append(("never", events.now)))
    events.run_until(5.0)
    assert seen == [("first", 1.0), ("second", 2.0), ("third", 2.0)]
    assert events.now == 5.0
