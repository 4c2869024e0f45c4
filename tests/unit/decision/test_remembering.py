"""Answers are given once for each content of a question."""

import dataclasses

import numpy as np

from heartbeat_tuner.decision.remembering import Remembered, digest
from heartbeat_tuner.decision.tuning import answer
from heartbeat_tuner.tails.law import Law
from tests.support.questions import happening, profile, question


def test_the_same_content_gets_the_same_answer() -> None:
    """Also where profile and laws were made anew."""
    memory = Remembered(4)
    first = memory.answer(question(profile(pauses=happening(20.0, 0.2))))
    assert memory.answer(question(profile(pauses=happening(20.0, 0.2)))) is first
    assert first == answer(question())


def test_whatever_is_asked_otherwise_is_another_question() -> None:
    """A rate, a law, a bound of it, or a setting."""
    asked = question()
    pauses = asked.profile.pauses
    others = [
        dataclasses.replace(asked, evictions=1),
        dataclasses.replace(asked, current=dataclasses.replace(asked.current, max_poll_interval=None)),
        *(
            dataclasses.replace(asked, profile=profile(pauses=one))
            for one in (
                dataclasses.replace(pauses, per_day=20.1),
                dataclasses.replace(pauses, law=Law.lognormal(0.2, 0.51)),
                dataclasses.replace(pauses, upper_per_day=None),
                dataclasses.replace(pauses, upper_per_day=np.zeros(3)),
            )
        ),
    ]
    assert len({digest(one) for one in [asked, *others]}) == 1 + len(others)


def test_what_was_not_asked_for_longest_is_forgotten_first() -> None:
    """A fleet that shrinks does not fill the memory."""
    memory = Remembered(2)
    one, two, three = (question(evictions=count) for count in range(3))
    first, second = memory.answer(one), memory.answer(two)
    assert memory.answer(one) is first
    memory.answer(three)
    assert memory.answer(one) is first
    assert memory.answer(two) is not second
