"""The commands of the installation page, and what Helm prints after them."""

import itertools
import re
import shlex
import string

import pytest

from heartbeat_tuner import settings
from heartbeat_tuner.api import parsing
from heartbeat_tuner.domain.policies import Mode
from sandbox.control_plane import ControlPlane
from tests.chart.rendering import CHART, MONITORING, NAME, VARIANTS, WITHOUT_MONITORING, Helm, Values
from tests.support import documents, yaml_texts


def settings_of(command: str) -> list[str]:
    """Return what a documented command sets; the rest of it names release, chart and namespace."""
    words = shlex.split(command)
    assert words[:2] == ["helm", "upgrade"]
    assert NAME in words
    assert str(CHART.relative_to(documents.CHECKOUT)) in words
    assert words[words.index("--namespace") + 1] == NAME
    return [f"{word}={value}" for word, value in itertools.pairwise(words) if word in ("--set", "--set-string")]


def test_the_documented_command_installs_the_documented_configuration(helm: Helm) -> None:
    """By Helm or by hand, the operator is told the same."""
    first, *_ = documents.code_blocks("docs/how-to/install.md", "shell")
    (text,) = documents.code_blocks("docs/how-to/install.md", "yaml")
    printed = helm.run("template", NAME, str(CHART), "--kube-version=1.35.4", *settings_of(first))
    (config,) = [item["data"]["config.yaml"] for item in yaml_texts.documents(printed) if item["kind"] == "ConfigMap"]
    by_helm, by_hand = (settings.Settings.model_validate(yaml_texts.document(item)) for item in (config, text))
    assert by_helm == by_hand


def test_the_quick_start_installs_what_its_reader_exports(helm: Helm) -> None:
    """With the values that the page gives, a tag of digits among them: `--set` would make a number of it."""
    *_, export = documents.code_blocks(documents.QUICK_START, "sh")
    given = dict(part.split("=", 1) for part in shlex.split(export)[1:])
    (commands,) = documents.code_blocks(documents.QUICK_START, "shell")
    said = settings_of(string.Template(commands).substitute(given))
    printed = helm.run("template", NAME, str(CHART), "--kube-version=1.35.4", *said)
    (operator,) = [item for item in yaml_texts.documents(printed) if item["kind"] == "Deployment"]
    (container,) = operator["spec"]["template"]["spec"]["containers"]
    assert container["image"] == f"{given['IMAGE']}:{given['TAG']}"


def test_the_second_adds_what_watches(helm: Helm) -> None:
    """It says only what is new."""
    first, second, *_ = documents.code_blocks("docs/how-to/install.md", "shell")
    assert "--reuse-values" in second
    said = (*settings_of(first), *settings_of(second))
    printed = helm.run("template", NAME, str(CHART), "--kube-version=1.35.4", *said)
    objects = list(yaml_texts.documents(printed))
    assert {item["kind"] for item in objects} >= set(MONITORING)
    assert f"{NAME}-dashboard" in [item["metadata"]["name"] for item in objects if item["kind"] == "ConfigMap"]


def test_removal_names_all_that_outlives_the_operator_s_namespace(helm: Helm) -> None:
    """What stands elsewhere, or has no namespace, is of a kind that is deleted, with the labels that are asked for."""
    page = (documents.CHECKOUT / "docs" / "how-to" / "remove.md").read_text()
    deleted = {
        (kind, "--all-namespaces" in flags, selector)
        for kinds, flags, selector in re.findall(
            r"`kubectl delete ([a-z,]+) (--all-namespaces )?--selector (\S+)`", page
        )
        for kind in kinds.split(",")
    }
    for item in helm.render(VARIANTS["namespaced"]).objects:
        kind, meta = item["kind"].lower(), item["metadata"]
        if kind == "customresourcedefinition" or meta.get("namespace") == NAME:
            continue
        assert kind in {known for known, _, _ in deleted}, kind
        for known, everywhere, selector in deleted:
            if known == kind:
                assert everywhere == ("namespace" in meta)
                assert dict(pair.split("=") for pair in selector.split(",")).items() <= meta["labels"].items()


def notes(helm: Helm, control_plane: ControlPlane, variant: str, values: Values) -> str:
    """Return what would be printed after an install."""
    where = (f"--kubeconfig={control_plane.kubeconfig}", f"--namespace={NAME}")
    printed = helm.run(
        *("install", NAME, str(CHART), "--dry-run=client", *where),
        values=[VARIANTS[variant], WITHOUT_MONITORING, values],
    )
    return printed.partition("\nNOTES:\n")[2]


def test_the_policy_of_the_notes_is_one(helm: Helm, control_plane: ControlPlane) -> None:
    """Of a cluster that is configured; it changes nothing."""
    report = notes(helm, control_plane, "full", {})
    text = report.partition("<<EOF\n")[2].partition("EOF\n")[0]
    body = yaml_texts.document(text)
    body["metadata"] |= {"uid": "u", "generation": 1, "creationTimestamp": "2026-01-01T00:00:00Z"}
    policy = parsing.policy_of(body)
    assert (policy.cluster, policy.mode) == ("main", Mode.RECOMMEND)


@pytest.mark.parametrize(
    ("variant", "values", "sentence", "untold"),
    [
        ("minimal", {}, "webhook.enabled is false", "create job"),
        (
            "minimal",
            {},
            "`mode: Initial`, `staticMembership: Enabled` and `staticMembership: Auto`",
            "new pods changed",
        ),
        ("full", {}, "new pods only for\nthose with `mode: Initial`", "webhook.enabled is false"),
        ("full", {}, "kubectl create job first-fit --from=cronjob/heartbeat-tuner-fit", "webhook.enabled is false"),
        ("lake", {}, "crds.install is false", "WARNING"),
        ("namespaced", {}, "It watches only these namespaces, which must exist: shop, billing", "WARNING"),
        ("namespaced", {}, "metadata: {name: orders, namespace: shop}", "namespace: default"),
        ("minimal", {"crds": {"keep": False}}, "WARNING: crds.keep is false", "crds.install"),
    ],
)
def test_the_notes_are_about_what_is_on(
    helm: Helm, control_plane: ControlPlane, variant: str, values: Values, sentence: str, untold: str
) -> None:
    """And warn of what one would regret."""
    text = notes(helm, control_plane, variant, values)
    assert sentence in text
    assert untold not in text
