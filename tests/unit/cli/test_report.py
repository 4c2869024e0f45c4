"""`report` as people call it: which sources it takes, what it refuses, and where the page goes."""

import json
from pathlib import Path
from typing import Any

import click.testing
import pytest
import yaml

from heartbeat_tuner.adapters.files.model_files import ModelFiles
from heartbeat_tuner.api import model_documents
from heartbeat_tuner.cli import cli
from heartbeat_tuner.report.report_data import ReportData
from tests.support import reports
from tests.support.pages import parsed


def run(*arguments: str, stdin: str = "", status: int = 0) -> click.testing.Result:
    """Run the command and return what it printed."""
    result = click.testing.CliRunner().invoke(cli, ["report", *arguments], input=stdin)
    assert result.exit_code == status, result.output
    return result


def data(*arguments: str, stdin: str = "") -> ReportData:
    """Return the page's data."""
    return ReportData.model_validate_json(run(*arguments, "--json", stdin=stdin).stdout)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of five models."""
    ModelFiles(tmp_path / "models").write([fitted.model for fitted in reports.models()])
    return tmp_path / "models"


def listed(*items: dict[str, Any]) -> str:
    """Return objects as kubectl prints them."""
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items})


def test_a_folder_of_models_is_a_page(folder: Path, tmp_path: Path) -> None:
    """It names the file on the terminal."""
    result = run("--models", str(folder), "-o", str(tmp_path / "page.html"))
    assert (result.stdout, result.stderr) == ("", f"wrote {tmp_path / 'page.html'}\n")
    found = parsed((tmp_path / "page.html").read_text())
    assert "5 groups" in found.text
    assert found.errors == []


def test_the_sample_is_a_page_of_its_own() -> None:
    """Without a Prometheus and without a fit, of a model of last night: nothing of it is too old."""
    (group,) = data("--sample").groups
    assert (group.namespace, group.group, group.verdict) == ("shop", "orders", "Change")


def test_the_page_goes_to_the_standard_output_where_that_is_asked_for(folder: Path) -> None:
    """A pipe gets the page, whole."""
    assert parsed(run("--models", str(folder), "-o", "-").stdout).errors == []


def test_only_the_groups_asked_for_are_shown(folder: Path) -> None:
    """By id, and by namespace."""
    assert [group.group for group in data("--models", str(folder), "--group", "ledger").groups] == ["ledger"]
    assert [group.group for group in data("--models", str(folder), "--namespace", "bank").groups] == ["ledger"]
    assert data("--models", str(folder), "--group", "nobody").groups == ()


@pytest.mark.parametrize("text", [listed(reports.policy()), yaml.safe_dump(reports.policy())], ids=["json", "yaml"])
def test_a_cluster_s_policies_are_read_as_kubectl_prints_them(text: str) -> None:
    """With what the operator says of them: verdict, changes, history."""
    (orders,) = data("-f", "-", stdin=text).groups
    assert (orders.cluster, orders.namespace, orders.group) == ("main", "shop", "orders")
    assert (orders.verdict, orders.mode) == ("Healthy", "Apply")
    (change,) = orders.changes
    assert (change.kind, change.outcome) == ("set", "Verified")
    assert change.before is not None
    assert change.before.per_day_upper == 341.0
    (timeline,) = orders.timelines
    assert len(timeline.evictions_s) == 3
    assert orders.costs is None
    assert any(note.startswith("No curves") for note in orders.notes)


def test_models_of_a_cluster_give_its_policies_their_curves() -> None:
    """Both kinds in one list, as `kubectl get cgp,cgm` prints them; a model without a policy is a group, too."""
    now = reports.fresh(reports.model("orders", 1.0, client="kafkajs").model)
    other = reports.fresh(reports.model("other", 1.0).model)
    documents = [
        {**document, "spec": {**document["spec"], "cluster": "main"}}
        for document in (model_documents.document_of(now), model_documents.document_of(other))
    ]
    groups = data("-f", "-", stdin=listed(reports.policy(), *documents)).groups
    assert [group.group for group in groups] == ["orders", "other"]
    assert all(group.costs is not None for group in groups)
    assert groups[0].verdict == "Healthy"
    assert "The verdict and the values are the operator's" in groups[0].notes[-1]


def test_objects_of_other_kinds_are_passed_over() -> None:
    """A dump of a namespace has many."""
    text = "kind: ConfigMap\nmetadata: {name: x}\n---\njust text\n---\nkind: ConsumerGroupPolicy\n"
    assert data("-f", "-", stdin=text).groups == ()


@pytest.mark.parametrize(
    ("arguments", "stdin", "words"),
    [
        ((), "", "give --prometheus URL, --models FOLDER or --filename FILE"),
        (("-f", "-"), "{", "--filename -: neither JSON nor YAML"),
        (("-f", "-"), "a: [", "--filename -: neither JSON nor YAML"),
        (("--models", "/nowhere"), "", "does not exist"),
        (("--prometheus", "prometheus:9090"), "", "--prometheus"),
    ],
)
def test_what_cannot_be_used_is_named(arguments: tuple[str, ...], stdin: str, words: str) -> None:
    """With the option, the rule and the fix; nothing is written."""
    result = run(*arguments, "-o", "-", stdin=stdin, status=2)
    assert words in " ".join(result.stderr.split())
    assert result.stdout == ""


def test_a_policy_that_cannot_be_used_costs_no_other() -> None:
    """One that an older version stored is named on the terminal and on the page, with its field."""
    wrong = {**reports.policy(), "spec": {**reports.policy()["spec"], "client": {"library": "kafkjs"}}}
    result = run("-f", "-", "--json", stdin=listed(wrong, reports.policy()))
    found = ReportData.model_validate_json(result.stdout)
    assert [group.group for group in found.groups] == ["orders"]
    assert "policy shop/orders cannot be used: spec.client.library" in found.notes[0]
    assert "left out: policy shop/orders cannot be used: spec.client.library" in result.stderr


def test_a_file_that_cannot_be_written_is_named(folder: Path, tmp_path: Path) -> None:
    """It is the option that has to change."""
    result = run("--models", str(folder), "-o", str(tmp_path / "none" / "page.html"), status=2)
    assert "--output" in result.stderr
    assert "No such file or directory" in result.stderr


def test_a_model_that_cannot_be_read_is_a_note(folder: Path) -> None:
    """It is no group without values, and no reason to show nothing."""
    path = folder / "shop" / "checkout.json"
    document = json.loads(path.read_text())
    path.write_text(json.dumps({**document, "spec": {**document["spec"], "days": -1}}))
    found = data("--models", str(folder))
    assert "checkout" not in [group.group for group in found.groups]
    assert any("spec.days" in note for note in found.notes)
