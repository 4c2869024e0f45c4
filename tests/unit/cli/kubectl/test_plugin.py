"""The plugin and a kubectl that says what a test wants: flags, failures, and looking until somebody ends it."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from heartbeat_tuner.api.v1alpha1 import models_v1alpha1, spec_v1alpha1
from heartbeat_tuner.api.v1alpha1.fields import GROUP
from heartbeat_tuner.cli.kubectl import cluster_options
from heartbeat_tuner.cli.kubectl.plugin import MODULES, plugin
from tests.support import reports

REMOVAL = "kubectl -n shop set env deployment/c -c app S-"


class FakeKubectl:
    """A program `kubectl` that prints a text, or fails, and notes how it was called."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.says("")

    def says(self, text: str, *, status: int = 0) -> None:
        """Print this, on the error output where it fails."""
        (self._folder / "text").write_text(text)
        script = f'#!/bin/sh\nprintf "%s\\n" "$*" >> {self._folder}/calls\ncat {self._folder}/text'
        script += " >&2\nexit 1\n" if status else "\n"
        program = self._folder / "kubectl"
        program.write_text(script)
        program.chmod(0o755)

    def has(self, bodies: Mapping[str, Any]) -> None:
        """Answer `get` with these objects, by name, and say of others that they are not there."""
        for name, body in bodies.items():
            (self._folder / f"{name}.json").write_text(json.dumps(body))
        here, missing = f"{self._folder}/$3.json", "case $* in *--ignore-not-found*) ;; *) exit 1 ;; esac"
        script = (
            f'#!/bin/sh\nprintf "%s\\n" "$*" >> {self._folder}/calls\ncase $1 in patch | annotate) exit 0 ;; esac\n'
        )
        (self._folder / "kubectl").write_text(f"{script}if [ -e {here} ]; then cat {here}; else {missing}; fi\n")

    def calls(self) -> list[str]:
        """Return the arguments of all calls."""
        calls = self._folder / "calls"
        return calls.read_text().splitlines() if calls.exists() else []


@pytest.fixture
def kubectl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeKubectl:
    """The first kubectl on the PATH."""
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    return FakeKubectl(tmp_path)


def run(*arguments: str) -> Result:
    """Run the plugin."""
    return CliRunner().invoke(plugin, arguments)


@pytest.mark.parametrize("words", [("explain", "ordres"), ("pause", "ordres"), ("revert", "ordres")])
def test_the_nearest_policy_is_named_where_there_is_none_of_a_name(
    words: tuple[str, ...], tmp_path: Path, kubectl: FakeKubectl
) -> None:
    """Other failures are kubectl's own."""
    names = f"consumergrouppolicy.{GROUP}/payments\nconsumergrouppolicy.{GROUP}/orders"
    kubectl.says('policies "ordres" not found (NotFound)', status=1)
    program = tmp_path / "kubectl"
    program.write_text(
        program.read_text().replace("cat ", f"case $* in *name*) echo '{names}'; exit 0 ;; esac\ncat ", 1)
    )
    assert "did you mean orders?" in run(*words).output
    kubectl.says("forbidden", status=1)
    assert "did you mean" not in run(*words).output


def test_names_that_are_missing_are_asked_for() -> None:
    """With where to look for them."""
    assert "Write names of policies; `kubectl get cgp` lists them." in run("pause").output


def test_kubectl_s_names_of_our_kinds_are_the_api_s() -> None:
    """They are written twice, since the models of the API take long to import."""
    assert f"{spec_v1alpha1.PLURAL}.{GROUP}" == cluster_options.POLICIES
    assert f"{models_v1alpha1.PLURAL}.{GROUP}" == cluster_options.MODELS


def test_flags_are_passed_on(kubectl: FakeKubectl) -> None:
    """As kubectl has them, and with a limit of time for each request."""
    assert run("pause", "orders", "-n", "shop", "--context=blue", "--kubeconfig=k").exit_code == 0
    (call,) = kubectl.calls()
    assert call.startswith('patch consumergrouppolicies.heartbeat-tuner.dev orders --type=merge --patch={"spec": ')
    assert "--kubeconfig=k --context=blue --namespace=shop --request-timeout=30s" in call


def test_what_kubectl_says_is_the_error(kubectl: FakeKubectl) -> None:
    """In one line that steers no terminal, with status 2."""
    kubectl.says("error: You must be logged in\x1b[2J\nto the server", status=1)
    result = run("status")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "Error: error: You must be logged in\\x1b[2J to the server\n"


def test_without_a_kubectl_the_sentence_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Not a traceback."""
    monkeypatch.setenv("PATH", str(tmp_path))
    result = run("resume", "orders")
    assert result.exit_code == 2
    assert "kubectl is not on the PATH" in result.stderr


def test_all_namespaces_are_asked_without_pods(kubectl: FakeKubectl) -> None:
    """Of a large cluster they would be too many."""
    kubectl.says(json.dumps({"kind": "List", "items": [reports.policy()]}))
    result = run("status", "-A")
    assert result.exit_code == 0, result.output
    assert "shop/orders  Apply  Healthy" in result.stdout
    first, *others = kubectl.calls()
    assert "--all-namespaces" in first
    assert others == ["get deployment orders --ignore-not-found --output=json --namespace=shop --request-timeout=30s"]


def test_an_empty_namespace_says_so(kubectl: FakeKubectl) -> None:
    """No silence that could be a failure."""
    kubectl.says(json.dumps({"kind": "List", "items": []}))
    assert run("status").stdout == "no policies found\n"


def test_watching_ends_at_an_interrupt(kubectl: FakeKubectl) -> None:
    """With status 0; what did not change is printed once."""
    kubectl.says(json.dumps({"kind": "List", "items": []}))
    program = "from heartbeat_tuner.cli.kubectl.plugin import main; main()"
    watching = subprocess.Popen([sys.executable, "-c", program, "status", "--watch"], stdout=subprocess.PIPE, text=True)
    assert watching.stdout is not None
    assert watching.stdout.readline() == "no policies found\n"
    watching.send_signal(signal.SIGINT)
    rest, _ = watching.communicate(timeout=30)
    assert (watching.returncode, rest.strip()) == (0, "")


def test_watching_outlasts_an_outage(kubectl: FakeKubectl) -> None:
    """The last tree stays, with the error below it, until the API server answers again."""
    empty = json.dumps({"kind": "List", "items": []})
    kubectl.says(empty)
    program = "from heartbeat_tuner.cli.kubectl.plugin import main; main()"
    watching = subprocess.Popen([sys.executable, "-c", program, "status", "--watch"], stdout=subprocess.PIPE, text=True)
    assert watching.stdout is not None
    lines = [watching.stdout.readline() for _ in range(2)]
    kubectl.says("The connection to the server\nwas refused", status=1)
    lines += [watching.stdout.readline() for _ in range(4)]
    kubectl.says(empty)
    lines += [watching.stdout.readline() for _ in range(2)]
    watching.send_signal(signal.SIGINT)
    watching.communicate(timeout=30)
    assert watching.returncode == 0
    assert [line for line in lines if line != "\n"] == [
        "no policies found\n",
        "no policies found\n",
        "Not updated, retrying: The connection to the server was refused\n",
        "no policies found\n",
    ]


def test_a_terminal_of_few_characters_gets_others(kubectl: FakeKubectl) -> None:
    """Not a traceback, which would end `revert` after the first of several workloads."""
    kubectl.says(json.dumps({"kind": "List", "items": [reports.policy()]}))
    program = "from heartbeat_tuner.cli.kubectl.plugin import main; main()"
    environment = {**os.environ, "PYTHONIOENCODING": "cp1252"}
    command = [sys.executable, "-c", program, "status", "-A"]
    shown = subprocess.run(command, capture_output=True, encoding="cp1252", env=environment, check=False)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "session timeout 1s ? 30s" in shown.stdout


def test_a_revert_goes_on_with_the_workloads_that_are_left(kubectl: FakeKubectl) -> None:
    """One was reverted by the call before, whose second write was refused; another is gone."""
    document = reports.policy()
    changed = {"container": "app", "entries": {"S": "30000"}, "previousEntries": {"S": "1000"}}
    applied = {**document["status"]["applied"], **changed}
    document["spec"]["workloadRefs"] = [{"name": name, "container": "app"} for name in ("a", "b", "c")]
    del document["spec"]["workloadRef"]
    document["status"]["workloads"] = [
        {"kind": "Deployment", "name": name, "container": "app", "applied": applied} for name in ("a", "b", "c")
    ]

    def deployment(value: str) -> dict[str, Any]:
        containers = [{"name": "app", "env": [{"name": "S", "value": value}]}]
        metadata = {"uid": applied["workloadUid"], "resourceVersion": "7"}
        return {"metadata": metadata, "spec": {"template": {"spec": {"containers": containers}}}}

    kubectl.has({"orders": document, "a": deployment("1000"), "c": deployment("30000")})
    result = run("revert", "orders")
    assert result.exit_code == 0, result.output
    (written,) = (call for call in kubectl.calls() if call.startswith("patch"))
    assert written.startswith("patch deployment c --type=strategic ")
    assert result.stdout.splitlines() == [
        "Deployment shop/a: it has the values before the change already",
        "Deployment shop/b: it is not there",
        "Deployment shop/c: S 30s → 1s",
        "reverted; the operator leaves these values alone",
        f"before you edit the policy to have it write again, take your entries out: {REMOVAL}",
    ]
    kubectl.has({"c": deployment("1000")})
    again = run("revert", "orders")
    assert again.exit_code == 2
    assert "Error: nothing is to be reverted: Deployment shop/a: it has the values" in again.stderr


def of_group(**changes: Any) -> dict[str, Any]:
    """Return a policy that wrote 45 s for its group a day after it wrote its workload."""
    document = reports.policy()
    document["status"]["groupConfig"] = {
        "clusterRef": "main",
        "groupId": "orders",
        "values": {"sessionTimeout": "45s"},
        "previous": {},
        "changeTime": "2026-03-03T11:30:00Z",
        "spec": "s",
        "answered": True,
        **changes,
    }
    return document


def test_a_revert_at_the_broker_is_asked_of_the_operator(kubectl: FakeKubectl) -> None:
    """By the time of the write that it is about; the workload, which was written before, keeps its values."""
    kubectl.has({"orders": of_group()})
    result = run("revert", "orders")
    assert result.exit_code == 0, result.output
    request = "annotate consumergrouppolicies.heartbeat-tuner.dev orders --overwrite"
    (written,) = (call for call in kubectl.calls() if not call.startswith("get"))
    assert written.startswith(f"{request} heartbeat-tuner.dev/revert-group-config=2026-03-03T11:30:00Z ")
    assert result.stdout.splitlines() == [
        "group orders at the broker: sessionTimeout 45s → no value of its own",
        "asked; the operator writes it within a cycle, and leaves the group alone then: see the condition Applied",
    ]
    assert "nothing was written (--dry-run)" in run("revert", "orders", "--dry-run").stdout
    assert "--dry-run=server" in kubectl.calls()[-1]


def test_a_revert_at_the_broker_waits_for_a_suspended_policy(kubectl: FakeKubectl) -> None:
    """The request comes first, so that nothing else is written between."""
    document = of_group()
    document["spec"]["suspend"] = True
    kubectl.has({"orders": document})
    result = run("revert", "orders")
    assert "writes it once the policy is resumed (spec.suspend is true)" in result.output


def test_a_revert_at_the_broker_is_not_reverted(kubectl: FakeKubectl) -> None:
    """To write the values again that somebody took back is the operator's, once it is asked for something else."""
    kubectl.has({"orders": of_group(revertedChangeTime="2026-03-03T11:00:00Z")})
    result = run("revert", "orders")
    assert result.exit_code == 2
    assert "the last write at the broker was a revert itself, at 2026-03-03T11:30:00Z" in result.stderr


def test_the_newest_of_two_changes_is_reverted(kubectl: FakeKubectl) -> None:
    """A group that was tuned at the broker, and whose workload was written since."""
    kubectl.has({"orders": of_group(changeTime="2026-03-01T00:00:00Z")})
    assert "group orders at the broker" not in run("revert", "orders").output


def test_every_command_has_its_module() -> None:
    """Each imports, and has help."""
    for name in MODULES:
        assert run(name, "--help").exit_code == 0


def test_a_slip_in_a_command_names_one_of_the_plugin_s_own() -> None:
    """Not one of the other program's: `revert` itself was taken for a slip in `report`, and `doctr` for a doctor."""
    assert "No such command 'revrt'. Did you mean 'revert'?" in run("revrt").stderr
    assert "Did you mean" not in run("doctr").stderr
