import re
from collections.abc import Iterator

import pytest

from tests.e2e.teams import Team

pytestmark = [pytest.mark.timeout(200), pytest.mark.usefixtures("operator")]


@pytest.fixture
def recommended(storming: Team) -> Iterator[Team]:
    """The storming team with a policy whose recommendation stands."""
    storming.apply_policy(storming.name, mode="Recommend")
    storming.await_condition("Recommended", "CadenceExceedsSession", status="True")
    yield storming
    storming.delete_policy()


def test_get_answers_at_a_glance(recommended: Team) -> None:
    """`kubectl get cgp -A` shows group, mode, verdict and how far a change is; `-o wide` adds reason and values."""
    first = ["NAMESPACE", "NAME", "GROUP", "MODE", "VERDICT", "APPLIED", "VERIFIED", "AGE"]
    wide = ["SUSPENDED", "REASON", "SESSION", "HEARTBEAT", "FETCHWAIT", "MAXPOLL", "EVICTIONS"]

    heading, line = _shown(recommended)
    assert heading == first
    *cells, age = line
    assert cells == [
        *(recommended.namespace, recommended.name, recommended.name, "Recommend", "Change", "RecommendMode"),
    ]
    assert re.fullmatch(r"\d+[smh]\S*", age)

    heading, line = _shown(recommended, "--output=wide")
    assert heading == first + wide
    assert line[len(cells) + 1 :] == ["false", "CadenceExceedsSession", "1s → 30s", "333ms → 1s", "5s → 1s"]


def _shown(team: Team, *options: str) -> tuple[list[str], list[str]]:
    """Return the headings, and the cells of a team's policy that are not empty."""
    lines = team.kubectl("get", "cgp", "-A", *options).splitlines()
    (line,) = [line for line in lines if line.startswith(team.namespace)]
    return re.split(r"\s{2,}", lines[0].rstrip()), re.split(r"\s{2,}", line.rstrip())


def test_describe_tells_the_story(recommended: Team) -> None:
    """`kubectl describe` says why, what and what holds it back, in sentences, and lists the Events."""
    shown = recommended.kubectl("describe", "cgp", recommended.name, f"--namespace={recommended.namespace}")
    text = " ".join(shown.split())

    assert (
        "with a heartbeat interval of 333ms and a fetch wait of 5s, there is a beat every 5s, but the session ends"
        in text
    )
    assert re.search(r"\d+ evictions of live members within", text)
    assert "Set sessionTimeout 1s → 30s, heartbeatInterval 333ms → 1s, fetchWait 5s → 1s" in text
    assert "spec.mode is Recommend: nothing is written; set it to Apply to have it done" in text
    assert re.search(r"Warning CadenceExceedsSession \S+ heartbeat-tuner KafkaJS beats only between two fetches", text)
