"""How long a namespace rests after the rules took some time over its objects."""

from heartbeat_tuner.webhook.rests import REST, SHORT_S, Rests


def spent(*times_s: float) -> set[str]:
    """Return who rests when the rules took so long over the objects of `shop`."""
    rests = Rests()
    rests.begin("shop")
    for spent_s in times_s:
        rests.spend("shop", spent_s)
    rests.end("shop")
    return rests.resting()


def test_a_namespace_that_took_long_rests() -> None:
    """Counted together: many small places are as much as a large one."""
    assert spent(600.0 / REST) == {"shop"}
    assert spent(*[SHORT_S] * 50_000) == {"shop"}


def test_a_namespace_that_took_a_moment_does_not() -> None:
    """Else every place would be looked at late."""
    assert spent(SHORT_S) == set()
    assert spent() == set()
