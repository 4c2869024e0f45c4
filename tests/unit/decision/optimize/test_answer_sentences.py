"""What is said beside an answer, where it depends on more than one number."""

import pytest

from heartbeat_tuner.decision.optimize import answer_sentences
from tests.support.worlds import java_settings


@pytest.mark.parametrize(
    ("session", "poll", "is_a_step"),
    [
        ("45s", "5m", False),
        ("24s", "5m", False),
        ("23s", "5m", True),
        ("45s", "151s", False),
        ("45s", "150s", True),
        ("60s", "10m", False),
    ],
)
def test_an_answer_that_a_step_cut_short_says_that_more_may_follow(session: str, poll: str, *, is_a_step: bool) -> None:
    """Half of what is set, in whole seconds, is as far as one step goes; of the session or of the poll limit."""
    sentence = answer_sentences.halved(java_settings("45s", poll="5m"), java_settings(session, poll=poll))
    assert bool(sentence) is is_a_step
