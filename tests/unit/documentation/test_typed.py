"""Which commands of pages cannot be typed."""

from pathlib import Path

import pytest

from tests.documentation import typed
from tests.documentation.markdown import Page
from tests.support.documents import CHECKOUT


def problems(text: str, language: str = "sh") -> list[str]:
    """Return what is wrong with a page that has this block."""
    page = Page("docs/page.md", f"```{language}\n{text}\n```\n")
    return [f"{finding.line}: {finding.problem}" for finding in typed.check(page, CHECKOUT)]


@pytest.mark.parametrize(
    "text",
    [
        "heartbeat-tuner check --client kafkajs --session-timeout 1s # why",
        "kubectl get cgp,cgm -A -o json | heartbeat-tuner report --filename -",
        "kubectl apply --filename - <<EOF\nkind: Nonsense --flag\nEOF\nmake demo KEEP=1",
        "helm upgrade heartbeat-tuner charts/heartbeat-tuner \\\n  --set kafka.clusters.any.bootstrapServers=k:9092",
        "for each in a b; do\n  kubectl get pods --namespace $each\ndone",
        "kubectl get cgp --output jsonpath='{.status.verdict}' > file",
        "kubectl -n shop delete pod orders-1",
        "kubectl heartbeat-tuner status orders -n shop",
        "python -m bench.idle",
    ],
)
def test_these_can_be_typed(text: str) -> None:
    """Pipes, documents, loops, comments and continued lines are taken apart as a shell does."""
    assert problems(text) == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("heartbeat-tuner chekc", "there is no command chekc"),
        ("heartbeat-tuner check --sesion-timeout 1s", "No such option '--sesion-timeout"),
        ("heartbeat-tuner check --session-timeout 10", "add a unit, like 10ms"),
        ("heartbeat-tuner recommend --client java", "Missing option '--group'"),
        ("kubectl get pods | heartbeat-tuner reprot -", "there is no command reprot"),
        ("kubectl gte cgp", "gte is no verb"),
        ("kubectl heartbeat-tuner puase orders", "there is no command puase"),
        ("kubectl get cgp --namespaces shop", "--namespaces is no flag"),
        ("kubectl get consumergrouppolicys", "there is no kind consumergrouppolicys"),
        ("kubectl get cgp -o jsonpath='{.status.verdikt}'", "no status has the field verdikt"),
        ("kubectl apply --filename docs/none.yaml", "there is no file docs/none.yaml"),
        ("helm upgrade heartbeat-tuner charts/other", "there is no chart charts/other"),
        ("helm upgrade heartbeat-tuner charts/heartbeat-tuner --set image.tga=1", "the chart has no value image.tga"),
        ("helm upgrade --set a=$(kubectl gte pods)", "gte is no verb"),
        ("make demoo", "the Makefile has no target demoo"),
        ("make demo KEPE=1", "the Makefile reads no variable KEPE"),
        ("python -m bench.none", "there is no module bench.none"),
        ("kubctl get pods", "kubctl is no program that pages use"),
    ],
)
def test_these_cannot(text: str, problem: str) -> None:
    """The finding says what is wrong, and in which line."""
    found = problems(f"cd folder\n{text}")
    assert any(problem in each and each.startswith("3: ") for each in found), found


def test_only_prompts_of_a_console_are_commands() -> None:
    """What is printed below is not."""
    text = "$ heartbeat-tuner chekc\nkubctl is printed"
    (console, *_) = problems(text, "console")
    assert "no command chekc" in console
    assert not any("kubctl" in each for each in problems(text, "console"))
    assert problems("kubctl", "yaml") == []


def test_a_block_that_promises_a_test_needs_one() -> None:
    """`shell` says that a test types it: some test has to name the page."""
    assert "no test names this page" in problems("make demo", "shell")[0]
    page = Page("docs/tutorial.md", "```shell\nmake demo\n```\n")
    assert list(typed.check(page, Path(CHECKOUT))) == []
