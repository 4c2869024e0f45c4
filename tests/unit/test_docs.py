"""The documentation says what the code does."""

import re
import runpy
import shlex
from datetime import timedelta
from pathlib import Path

import pydantic
import pytest
import yaml

from heartbeat_tuner import settings
from heartbeat_tuner.api import parsing
from heartbeat_tuner.cli import fit, report
from heartbeat_tuner.clients import catalogue, java
from heartbeat_tuner.domain.policies import Mode
from heartbeat_tuner.domain.reasons import WHAT_TO_DO, Reason
from heartbeat_tuner.domain.verdicts import Verdict
from heartbeat_tuner.metrics.conventions import known_conventions, librdkafka_metrics, watched_groups
from heartbeat_tuner.settings import sections
from heartbeat_tuner.settings.prometheus_settings import PrometheusSettings
from tests.support import checks, documents, worlds
from tests.support.pipelines import first_hold

_REFERENCE = documents.CHECKOUT / "docs" / "reference"
_GENERATED = runpy.run_path(str(_REFERENCE / "generate.py"))["PAGES"]


@pytest.mark.parametrize("name", sorted(_GENERATED))
def test_generated_pages_are_those_of_the_code(name: str) -> None:
    """A field, reason or metric cannot change without its reference page (run `make docs`)."""
    assert (_REFERENCE / name).read_text() == _GENERATED[name]()


def test_the_example_of_a_library_has_the_variables_that_are_expected_anyway() -> None:
    """So that who leaves client.env out gets the same; frameworks have others."""
    for body in yaml.safe_load_all((_REFERENCE / "policy-examples.yaml").read_text()):
        body["metadata"] |= {
            "namespace": "shop",
            "uid": "u",
            "generation": 1,
            "creationTimestamp": "2026-01-01T00:00:00Z",
        }
        policy = parsing.policy_of(body)
        del body["spec"]["client"]["env"]
        is_expected = parsing.policy_of(body).env_names == policy.env_names
        assert is_expected is (body["metadata"]["name"] == f"orders-{policy.library}")


def test_the_quick_start_s_policy_is_one() -> None:
    """The first policy that a reader copies is read as it is meant."""
    (text,) = documents.code_blocks(documents.QUICK_START, "yaml")
    body = yaml.safe_load(text)
    body["metadata"] |= {"uid": "u", "generation": 1, "creationTimestamp": "2026-01-01T00:00:00Z"}
    policy = parsing.policy_of(body)
    assert (policy.group_id, policy.mode, policy.library) == ("orders", Mode.RECOMMEND, "kafkajs")


def test_the_documented_configuration_loads(tmp_path: Path) -> None:
    """The configuration on the installation page is accepted, and its interval is the default the page states."""
    (text,) = documents.code_blocks("docs/how-to/install.md", "yaml")
    path = tmp_path / "config.yaml"
    path.write_text(text)
    loaded = settings.load(path)
    assert loaded.kafka.clusters["main"].bootstrap_servers == "kafka.kafka:9092"
    assert loaded.interval == settings.Settings.model_fields["interval"].default


def test_the_documented_ways_to_reach_prometheus_are_accepted() -> None:
    """But for their files, which are not on this machine: the one thing that is said of them."""
    blocks = [
        item
        for text in documents.code_blocks("docs/how-to/prometheus.md", "yaml")
        for item in yaml.safe_load_all(text)
        if "prometheus" in item and "secret" not in item["prometheus"].get("bearerToken", {})
    ]
    assert blocks
    for block in blocks:
        with pytest.raises(pydantic.ValidationError) as caught:
            PrometheusSettings.model_validate(block["prometheus"])
        assert all("cannot be read" in error["msg"] for error in caught.value.errors())


def test_the_documented_windows_and_budget_are_as_told(tmp_path: Path) -> None:
    """The policy is held by its windows in the words of the page, and the budget is the default that it states."""
    policy, budget = (yaml.safe_load(text) for text in documents.code_blocks("docs/how-to/rollouts.md", "yaml"))
    policy["metadata"] |= {"uid": "u", "generation": 1, "creationTimestamp": "2026-01-01T00:00:00Z"}
    asked = parsing.policy_of(policy)
    hold = first_hold(worlds.storm(policy=asked), worlds.settings())
    assert hold is not None
    assert documents.code_blocks("docs/how-to/rollouts.md", "text") == [f"{hold.message}\n"]
    path = tmp_path / "config.yaml"
    (first,) = documents.code_blocks("docs/how-to/install.md", "yaml")
    path.write_text(first + yaml.safe_dump(budget))
    assert settings.load(path).rollout == settings.RolloutSettings()


def test_the_documented_deployment_runs_the_documented_configuration() -> None:
    """Two replicas with the page's file where the command looks for it, and time to end."""
    (text,) = documents.code_blocks("docs/how-to/install.md", "yaml")
    manifest = (documents.CHECKOUT / "docs" / "how-to" / "install.yaml").read_text()
    account, config_map, deployment, budget = yaml.safe_load_all(manifest)
    assert config_map["data"] == {"config.yaml": text}
    spec, pod = deployment["spec"], deployment["spec"]["template"]["spec"]
    assert (spec["replicas"], pod["serviceAccountName"]) == (2, account["metadata"]["name"])
    assert spec["selector"] == budget["spec"]["selector"]
    assert pod["terminationGracePeriodSeconds"] >= 30
    (container,) = pod["containers"]
    (mount,) = container["volumeMounts"]
    assert container["args"] == ["run", "--config", f"{mount['mountPath']}/config.yaml"]
    assert container["ports"][0]["containerPort"] == sections.HttpSettings().port


def test_every_reason_says_what_to_do() -> None:
    """A user who reads a reason finds it on the page, with the next step."""
    assert set(WHAT_TO_DO) == set(Reason)
    page = (_REFERENCE / "reasons.md").read_text()
    rows = dict(re.findall(r"^\| `(\w+)` \| .+ \| (.+) \|$", page, re.MULTILINE))
    assert rows == {reason.value: advice for reason, advice in WHAT_TO_DO.items()}


def test_reasons_named_on_pages_exist() -> None:
    """A page explains no reason that the tuner never gives; verdicts, a mode and a kind look like reasons."""
    text = (documents.CHECKOUT / "docs" / "explanation" / "deciding.md").read_text()
    named = set(re.findall(r"`([A-Z][A-Za-z]+)`", text))
    assert named - {reason.value for reason in Reason} <= {*Verdict, "Initial", "ConsumerGroupModel"}


def test_the_readme_has_the_two_commands_of_a_newcomer() -> None:
    """`check` first, a trial, then what runs the main job and the tests; `make docs-check` knows the targets."""
    check, trial, *commands = documents.code_blocks("README.md", "shell")
    assert check.startswith("heartbeat-tuner check ")
    answer = checks.run(*shlex.split(trial)[1:])
    assert (answer.exit_code, "Set sessionTimeout 45s → " in answer.stdout) == (0, True)
    assert commands == ["make demo\n", "make test\n"]


def test_the_readme_shows_what_check_answers() -> None:
    """The lines between which the page leaves some out are lines of the answer, in their order."""
    command, *_ = documents.code_blocks("README.md", "shell")
    (shown,) = documents.code_blocks("README.md", "text")
    answer = checks.run(*shlex.split(command)[1:]).stdout.splitlines()
    places = [answer.index(line) for line in shown.splitlines() if line != "..."]
    assert places == sorted(places)


def test_the_readme_says_which_libraries_are_supported() -> None:
    """Every library has a row: `recommend` has those that can be measured, the operator those that policies name."""
    rows = re.findall(
        r"^\| (`.+?) \| (.+?) \| (.+?) \| (.+?) \|$", (documents.CHECKOUT / "README.md").read_text(), re.MULTILINE
    )
    supported = {name: answers for cell, *answers in rows for name in re.findall(r"`([^`]+)`", cell)}
    measured = {name: "yes" if name in known_conventions.LIBRARIES else "not yet" for name in catalogue.CLIENTS}
    operated = measured | dict.fromkeys((*watched_groups.LIBRARIES, java.CONNECT.name), "evictions only")
    counted = "[with counters](docs/how-to/install.md#librdkafka)"
    measured |= dict.fromkeys(librdkafka_metrics.LIBRARIES, counted)
    operated |= dict.fromkeys(librdkafka_metrics.LIBRARIES, f"{counted}; else evictions only")
    operated |= {
        name: "[at the broker](docs/how-to/broker-side.md)"
        for name, client in catalogue.CLIENTS.items()
        if client.protocols[0].is_at_broker
    }
    assert supported == {name: ["yes", measured[name], operated[name]] for name in measured}


def test_the_documented_reports_are_asked_for_as_the_command_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Each line of the page is taken, but for what kubectl prints."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "models").mkdir()
    lines = [block.strip() for block in documents.code_blocks("docs/how-to/report.md", "shell")]
    typed = [shlex.split(line.rpartition(" | ")[2])[1:] for line in lines]
    assert [words[0] for words in typed] == ["report"] * 5
    given = [report.command.make_context("report", words[1:]).params for words in typed]
    assert [bool(item["models"]) for item in given] == [True, True, False, False, True]
    assert [bool(item["filenames"]) for item in given] == [False, False, True, False, False]
    assert given[3]["lookback"] == timedelta(hours=6)
    assert given[4]["as_json"]


def test_the_documented_cron_job_asks_for_what_the_command_knows() -> None:
    """Its options are taken, its account is the one with the rights, and these are no more than a fit uses."""
    text = (documents.CHECKOUT / "docs" / "how-to" / "fit.yaml").read_text()
    account, role, binding, claim, cron = yaml.safe_load_all(text)
    pod = cron["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    given = fit.command.make_context("fit", list(container["args"][1:])).params
    assert container["args"][0] == "fit"
    assert (given["models"], given["output"]) == ("kubernetes", "json")
    (history,) = [volume_mount for volume_mount in container["volumeMounts"] if volume_mount["name"] == "history"]
    assert given["history"].startswith(history["mountPath"])
    assert pod["volumes"][0]["persistentVolumeClaim"]["claimName"] == claim["metadata"]["name"]
    assert pod["serviceAccountName"] == account["metadata"]["name"] == binding["subjects"][0]["name"]
    assert binding["roleRef"]["name"] == role["metadata"]["name"]
    (rule,) = role["rules"]
    assert rule == {
        "apiGroups": ["heartbeat-tuner.dev"],
        "resources": ["consumergroupmodels"],
        "verbs": ["list", "create", "patch"],
    }
