"""The command `heartbeat-tuner check`: what it reads, what it refuses, what it says, and how soon."""

import json
import shlex
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from heartbeat_tuner.cli import cli
from heartbeat_tuner.decision import lint_rules
from tests.support import check_examples, documents
from tests.support.check_examples import Example

STORM = {"KAFKA_SESSION_TIMEOUT_MS": "1000", "KAFKA_HEARTBEAT_INTERVAL_MS": "333", "KAFKA_MAX_WAIT_TIME_MS": "5000"}
NAME = "KAFKA_SESSION_TIMEOUT_MS"
PASSWORD = "correct-horse"  # noqa: S105 - what must not be printed
GUIDE = "docs/how-to/check.md"
MAYBE_OPTIONAL = "{valueFrom: {configMapKeyRef: {name: a, key: a, optional: maybe}}}"
GONE_KEY = {"name": "settings", "key": "gone"}


def run(*arguments: object, stdin: str | bytes | None = None) -> Result:
    """Run the command line in this process; whatever is not an exit status is a bug."""
    result = CliRunner().invoke(cli, [str(argument) for argument in arguments], input=stdin)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def refused(*arguments: object, stdin: str | bytes | None = None) -> str:
    """Return the sentence with which the command line or a file is refused: status 2, nothing else said."""
    result = run("check", *arguments, stdin=stdin)
    assert (result.exit_code, result.stdout) == (2, "")
    assert PASSWORD not in result.stderr
    return result.stderr.removeprefix("Error: ")


def checked(*arguments: object, stdin: str | None = None) -> list[dict[str, Any]]:
    """Return the checked subjects of the JSON output."""
    result = run("check", "--output=json", *arguments, stdin=stdin)
    assert result.exit_code in {0, 1}, result.stderr
    assert PASSWORD not in result.stdout
    found: list[dict[str, Any]] = json.loads(result.stdout)["checked"]
    return found


def rules(subject: dict[str, Any]) -> list[str]:
    """Return the ids of what was found."""
    return [finding["rule"] for finding in subject["findings"]]


def workload(
    *containers: dict[str, Any], kind: str = "Deployment", name: str = "orders", namespace: str | None = None
) -> dict[str, Any]:
    """Return a workload; without containers one that is called app and sets nothing."""
    pod = {"containers": list(containers) or [{"name": "app"}]}
    spec = pod if kind == "Pod" else {"template": {"spec": pod}}
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {"kind": kind, "metadata": metadata, "spec": spec}


def container(name: str = "app", env: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """Return a container with literal entries."""
    return {"name": name, "env": [{"name": key, "value": value} for key, value in (env or {}).items()], **more}


def config_map(name: str = "settings", namespace: str | None = None, **data: str) -> dict[str, Any]:
    """Return a ConfigMap."""
    return {"kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}, "data": data}


def manifest(folder: Path, *objects: Any, name: str = "deploy.yaml") -> Path:
    """Return a file with the objects."""
    path = folder / name
    path.write_text(yaml.safe_dump_all(objects))
    return path


@pytest.mark.parametrize("example", check_examples.examples(), ids=str)
def test_examples_give_their_findings_and_exit_status(example: Example) -> None:
    """The flags mean what the rules take, and only errors fail by default."""
    severities = {rule.id: rule.severity.value for rule in lint_rules.RULES}
    worst = {severities[rule] for rule in example.findings}
    for fail_on, failing in ({"error": {"error"}, "warning": {"error", "warning"}}).items():
        result = run(*example.arguments, "--output=json", f"--fail-on={fail_on}")
        assert rules(json.loads(result.stdout)["checked"][0]) == example.findings
        assert result.exit_code == (1 if worst & failing else 0)
    assert run(*example.arguments).exit_code == (1 if "error" in worst else 0)


@pytest.mark.parametrize("block", documents.code_blocks(GUIDE, "console"), ids=lambda block: block.splitlines()[0][:60])
def test_the_guide_shows_what_the_command_says(block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands and answers on the page are real."""
    (tmp_path / "deploy.yaml").write_text(documents.code_blocks(GUIDE, "yaml")[0])
    (tmp_path / "app.env").write_text(documents.code_blocks(GUIDE, "shell")[0])
    monkeypatch.chdir(tmp_path)
    command, _, answer = block.partition("\n")
    assert run(*shlex.split(command)[2:]).stdout == answer


def test_the_readme_s_example_answers_in_a_process_of_its_own() -> None:
    """A newcomer's first command says what is wrong and what would hold, and soon (0.15 s on a quiet machine)."""
    (command, *_) = documents.code_blocks("README.md", "shell")
    began = time.monotonic()
    done = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-m", "heartbeat_tuner", *shlex.split(command)[1:]],
        capture_output=True,
        text=True,
        check=False,
    )
    took_s = time.monotonic() - began
    assert (done.returncode, done.stderr) == (1, "")
    assert "rebalances for ever" in done.stdout
    assert "What would hold: session timeout 30s, heartbeat interval 1s, fetch wait 1s." in done.stdout
    assert took_s < 10


def test_nothing_heavy_is_loaded(tmp_path: Path) -> None:
    """Time follows from imports, and they are the same on every machine."""
    path = manifest(tmp_path, workload(container(env=STORM)))
    program = textwrap.dedent("""
        import sys
        from heartbeat_tuner.cli import cli
        cli(["check", "--client=kafkajs", "-f", sys.argv[1]], standalone_mode=False)
        heavy = {"kopf", "kubernetes", "confluent_kafka", "prometheus_api_client", "prometheus_client", "pydantic",
                 "aiohttp", "requests", "structlog", "numpy", "pandas"}
        print(sorted(heavy & set(sys.modules)), file=sys.stderr)
    """)
    done = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True
    )
    assert done.stderr == "[]\n"


def test_all_commands_are_there() -> None:
    """Each name leads to a module with a command; others are refused as click does."""
    shown = run("--help").stdout
    assert all(f"  {name} " in shown for name in ("check", "clients", "crds", "run"))
    assert "kind: CustomResourceDefinition\n" in run("crds").stdout
    assert run("lint").exit_code == 2


# Env files


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        (f"{NAME}=20000\n", 20_000),
        (f"export {NAME}=20000", 20_000),
        (f'{NAME}="20000"  # why\n', 20_000),
        (f"  {NAME} = '20000'\r\n", 20_000),
        (f"{NAME}=20000 # why", 20_000),
        (f"{NAME}=10000\n{NAME}=20000\n", 20_000),
        (f"#{NAME}=20000\n", 30_000),
        (f"MY_{NAME}=20000\n{NAME}2=1\n", 30_000),
        (f"\ufeff{NAME}=20000\n", 20_000),
        (f'KEY="-----BEGIN\n{PASSWORD}\nno assignment at all\n"\n{NAME}=20000', 20_000),
        ("", 30_000),
    ],
)
def test_env_files_are_read_as_people_write_them(text: str, milliseconds: int, tmp_path: Path) -> None:
    """Comments, quotes and `export` are no part of a value; other variables are passed over."""
    path = tmp_path / "app.env"
    path.write_text(text, newline="")
    (subject,) = checked("--client=kafkajs", "--env-file", path)
    assert subject["settings"]["sessionTimeout"]["milliseconds"] == milliseconds


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (f"{NAME}=30s", f"has {NAME}='30s', which is no whole number of milliseconds between 1 and 2147483647"),
        (f"{NAME}=0", f"has {NAME}='0', which is no whole number"),
        (f"{NAME}=", f"has {NAME}=a text of 0 characters"),
        (f"{NAME}={PASSWORD}", f"has {NAME}=a text of 13 characters"),
        (f"{NAME}=$(OTHER)", f"has {NAME}=a reference to another variable, $(NAME), which is no"),
        (f"{NAME}: 30000", f"line 1: {NAME} has no value; write {NAME}=30000"),
        ("KAFKA_GROUP_PROTOCOL=modern", "KAFKA_GROUP_PROTOCOL with a value that is neither classic nor consumer"),
    ],
)
def test_env_values_that_cannot_be_used_are_named(line: str, sentence: str) -> None:
    """File, variable, rule and fix; a value is shown only if it looks like a duration."""
    assert sentence in refused("--client=java", "--env-file=-", stdin=line)


def test_the_fix_for_an_env_value_is_that_of_this_command() -> None:
    """There is no policy here whose spec could be mended."""
    sentence = refused("--client=kafkajs", "--env-file=-", stdin=f"{NAME}=30s")
    assert "write 30000, or name the right variable with --env sessionTimeout=NAME" in sentence


@pytest.mark.parametrize(
    ("client", "line", "readings"),
    [
        ("java", f"{NAME}=45", "which is 45ms; if 45s is meant, write 45000"),
        ("kafkajs", f"{NAME}=30", "which is 30ms; if 30s is meant, write 30000"),
        ("java", "KAFKA_HEARTBEAT_INTERVAL_MS=3", "which is 3ms; if 3s is meant, write 3000"),
        ("aiokafka", "KAFKA_REBALANCE_TIMEOUT_MS=60", "which is 60ms; if 1m is meant, write 60000"),
        ("sarama", "KAFKA_SESSION_TIMEOUT=30000", "write 30000ms (30s) or 30000s (8h20m), whichever is meant"),
        ("franz-go", "KAFKA_HEARTBEAT_INTERVAL=3", "write 3ms (3ms) or 3s (3s), whichever is meant"),
        ("kafka-go", "KAFKA_SESSION_TIMEOUT=30 s", "write 30 seconds as 30s, or name the right variable"),
        ("kafka-go", "KAFKA_SESSION_TIMEOUT=٣", "write 30 seconds as 30s, or name the right variable"),
        ("spring", "SPRING_KAFKA_CONSUMER_MAXPOLLINTERVAL=5m", "write 300000, or name the right variable"),
        ("java", f"{NAME}=' 30000'", "='30000' with white space around it, which is no whole number of milliseconds"),
        ("java", f"{NAME}='30000 '", "; write 30000, or name the right variable"),
        ("kafkajs", f"{NAME}='30s '", "; write 30000, or name the right variable"),
        ("sarama", "KAFKA_SESSION_TIMEOUT='30s '", "; write 30s, or name the right variable"),
    ],
)
def test_a_doubtful_unit_is_refused_with_both_readings(client: str, line: str, readings: str) -> None:
    """Nobody has to guess what was understood."""
    assert readings in refused(f"--client={client}", "--env-file=-", stdin=line)


@pytest.mark.parametrize(
    ("preset", "variable", "protocol"),
    [
        (
            "spring",
            "SPRING_KAFKA_CONSUMER_PROPERTIES_SESSION_TIMEOUT_MS",
            "SPRING_KAFKA_CONSUMER_PROPERTIES_GROUP_PROTOCOL",
        ),
        ("plain", NAME, "KAFKA_GROUP_PROTOCOL"),
    ],
)
def test_a_preset_says_what_variables_are_called(preset: str, variable: str, protocol: str) -> None:
    """Those of the other preset mean nothing then."""
    stdin = f"{NAME}=9000\nSPRING_KAFKA_CONSUMER_PROPERTIES_SESSION_TIMEOUT_MS=9000\n{variable}=20000\n"
    (subject,) = checked("--client=spring", "--env-file=-", f"--preset={preset}", stdin=stdin)
    assert subject["settings"]["sessionTimeout"] == {"milliseconds": 20_000, "origin": "given"}
    (subject,) = checked("--client=spring", "--env-file=-", f"--preset={preset}", stdin=f"{protocol}=consumer\n")
    assert subject["settings"]["sessionTimeout"]["origin"] == "broker"


def test_an_older_version_is_checked_with_its_defaults() -> None:
    """Java had S 10 s before 3.0."""
    (subject,) = checked("--client=java", "--client-version=2.8", "--heartbeat-interval=4s")
    assert subject["settings"]["sessionTimeout"] == {"milliseconds": 10_000, "origin": "default"}
    assert rules(subject) == ["few-beats-per-session"]


@pytest.mark.parametrize(
    ("client", "flag", "milliseconds"),
    [("kafka-node", "heartbeatInterval", 3_000), ("aiokafka", "rebalanceTimeout", 9_000)],
)
def test_a_default_that_is_a_share_of_the_session_follows_it(client: str, flag: str, milliseconds: int) -> None:
    """kafka-node beats three times in a session, whatever that is."""
    (subject,) = checked(f"--client={client}", "--session-timeout=9s")
    assert subject["settings"][flag] == {"milliseconds": milliseconds, "origin": "default"}


@pytest.mark.parametrize(
    ("client", "shown"), [("aiokafka", "\n  aiokafka beats"), ("java", "\n  The Java consumer beats")]
)
def test_a_sentence_begins_as_the_library_is_written(client: str, shown: str) -> None:
    """A name written small stays so; an article does not."""
    assert shown in run("check", f"--client={client}", "--session-timeout=7s").stdout


def test_another_variable_may_hold_a_setting() -> None:
    """The preset's name means nothing then."""
    stdin = f"{NAME}=20000\nMINE=10000\n"
    (subject,) = checked("--client=kafkajs", "--env-file=-", "--env=sessionTimeout=MINE", stdin=stdin)
    assert subject["settings"]["sessionTimeout"] == {"milliseconds": 10_000, "origin": "given"}


@pytest.mark.parametrize("value", ["consumer", "CONSUMER"])
def test_the_group_s_protocol_is_read(value: str) -> None:
    """A client of the consumer protocol that sets S does not start."""
    stdin = f"KAFKA_GROUP_PROTOCOL={value}\n{NAME}=45000\n"
    (subject,) = checked("--client=java", "--env-file=-", stdin=stdin)
    assert rules(subject) == ["consumer-protocol-refuses"]
    assert subject["wouldHold"] == {"set": {}, "remove": ["sessionTimeout"]}
    assert subject["settings"]["heartbeatInterval"] == {"milliseconds": None, "origin": "broker"}


# Manifests


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job", "Pod"])
def test_workloads_are_read_with_their_config_maps(kind: str, tmp_path: Path) -> None:
    """A literal entry wins over the map."""
    app = container(env={NAME: "2000"}, envFrom=[{"configMapRef": {"name": "settings"}}])
    path = manifest(tmp_path, config_map(**STORM), workload(app, kind=kind))
    (subject,) = checked("--client=kafkajs", "-f", path)
    assert subject["subject"] == f"{kind} orders, container app"
    assert [one["milliseconds"] for one in subject["settings"].values()] == [2_000, 333, 5_000, 60_000]


def test_maps_may_stand_in_another_file_but_not_in_another_namespace(tmp_path: Path) -> None:
    """A name means something only in its namespace."""
    app = container(envFrom=[{"configMapRef": {"name": "settings"}}])
    maps = manifest(tmp_path, config_map(namespace="shop", **STORM), name="maps.yaml")
    apps = manifest(tmp_path, workload(app, namespace="shop"), workload(app, namespace="else"), name="apps.yaml")
    shop, other = checked("--client=kafkajs", "-f", maps, "-f", apps)
    assert (shop["subject"], rules(shop)[0]) == ("Deployment shop/orders, container app", "beat-never-in-time")
    assert rules(other) == ["setting-unseen"]


@pytest.mark.parametrize(
    "listed",
    [
        {"kind": "List", "items": [workload(container(env=STORM)), {"kind": "Service"}]},
        {"kind": "List", "items": [{"kind": "List", "items": [workload(container(env=STORM))]}]},
        {"kind": "DeploymentList", "items": [workload(container(env=STORM)) | {"kind": None}]},
        {"kind": "DeploymentList", "items": [workload(container(env=STORM))]},
    ],
    ids=["mixed", "nested", "as the API server answers", "with kinds"],
)
def test_lists_are_read_from_the_standard_input(listed: dict[str, Any]) -> None:
    """As `kubectl get -o yaml` writes them."""
    (subject,) = checked("--client=kafkajs", "-f-", stdin=json.dumps(listed))
    assert rules(subject)[0] == "beat-never-in-time"


def test_a_kind_that_only_sounds_like_a_list_is_none(tmp_path: Path) -> None:
    """A definition may be called so."""
    path = manifest(tmp_path, {"kind": "AllowList", "spec": {}}, workload())
    assert len(checked("--client=kafkajs", "-f", path)) == 1


def test_what_is_not_checked_is_said(tmp_path: Path) -> None:
    """Nobody may believe a CronJob to be sound that was not looked at."""
    template = {"template": {"spec": {"containers": [{"name": "app"}]}}}
    others = [
        {"kind": "Rollout", "metadata": {"name": "web", "namespace": "shop"}, "spec": template},
        {"kind": "CronJob", "metadata": {"name": "nightly"}, "spec": {"jobTemplate": {"spec": template}}},
        {"kind": "JobSet", "metadata": {}, "spec": {"replicatedJobs": [{"template": {"spec": template}}]}},
        {"kind": "Odd\x1b[31m", "metadata": {"name": "odd"}, "spec": template},
        {"kind": "Service", "metadata": {"name": "web"}, "spec": {"template": "of another sort"}},
    ]
    result = run("check", "--client=kafkajs", "-f", manifest(tmp_path, workload(), *others))
    assert result.exit_code == 0
    why = "has a pod template, but is of a kind that is not known"
    assert result.stderr.replace(f"{tmp_path}/", "").splitlines() == [
        f"not checked: Rollout shop/web {why}",
        f"not checked: CronJob nightly {why}",
        f"not checked: deploy.yaml, document 4 {why}",
        f"not checked: deploy.yaml, document 5 {why}",
    ]
    sentence = refused("--client=kafkajs", "-f", manifest(tmp_path, *others))
    assert "Job, Pod to check; Rollout shop/web, CronJob nightly, " in sentence


def test_a_file_that_is_named_twice_is_refused(tmp_path: Path) -> None:
    """The second reading of the standard input gives nothing, and would take the first one's place."""
    stdin = json.dumps(workload())
    assert "--filename names standard input twice; name it once" in refused("--client=java", "-f-", "-f-", stdin=stdin)
    path = manifest(tmp_path, workload())
    assert f"names {path} twice" in refused("--client=java", "-f", path, "-f-", "-f", path, stdin=stdin)


def test_files_that_are_shown_alike_are_all_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name is no key."""
    manifest(tmp_path, workload(), name="standard input")
    monkeypatch.chdir(tmp_path)
    assert len(checked("--client=kafkajs", "-f", "standard input", "-f-", stdin=json.dumps(workload()))) == 2


@pytest.mark.parametrize(
    ("more", "origin"),
    [
        ({"env": [{"name": NAME, "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]}, "unseen"),
        ({"env": [{"name": NAME, "valueFrom": {"configMapKeyRef": {"name": "gone", "key": "k"}}}]}, "unseen"),
        (
            {"env": [{"name": NAME, "valueFrom": {"configMapKeyRef": {**GONE_KEY, "optional": True}}}]},
            "default",
        ),
        ({"env": [{"name": "OTHER", "valueFrom": {"configMapKeyRef": GONE_KEY}}]}, "default"),
        ({"envFrom": [{"secretRef": {"name": "s"}}]}, "unseen"),
        ({"envFrom": [{"configMapRef": {"name": "gone"}}]}, "unseen"),
        ({"envFrom": [{"prefix": "DB_", "secretRef": {"name": "s"}}]}, "default"),
        ({"envFrom": [{"prefix": "KAFKA_", "secretRef": {"name": "s"}}]}, "unseen"),
        ({"envFrom": [{"secretRef": {"name": "s"}}], "env": [{"name": NAME, "value": "9000"}]}, "given"),
        ({"envFrom": [{"configMapRef": {"name": "settings"}}]}, "default"),
        ({"env": [{"name": NAME}]}, "default"),
    ],
)
def test_what_cannot_be_seen_is_no_default(more: dict[str, Any], origin: str, tmp_path: Path) -> None:
    """A Secret, or a map that is not there, may set what nothing else sets."""
    path = manifest(tmp_path, config_map(OTHER="1"), workload({"name": "app", **more}))
    (subject,) = checked("--client=kafkajs", "-f", path)
    assert subject["settings"]["sessionTimeout"]["origin"] == origin
    if origin == "unseen":
        assert "setting-unseen" in rules(subject)


@pytest.mark.parametrize("name", [NAME, "KAFKA_GROUP_PROTOCOL"])
@pytest.mark.parametrize("optional", [{}, {"optional": False}, {"optional": None}], ids=str)
def test_a_key_that_its_config_map_has_not_is_no_default(name: str, optional: dict[str, Any], tmp_path: Path) -> None:
    """The kubelet does not start such a container; nobody may read that it runs with the library's value."""
    reference = {"configMapKeyRef": {**GONE_KEY, **optional}}
    app = {"name": "app", "env": [{"name": name, "valueFrom": reference}]}
    sentence = refused("--client=java", "-f", manifest(tmp_path, config_map(OTHER="1"), workload(app)))
    assert f"Deployment orders, container app has {name} from ConfigMap settings, which has no key gone: " in sentence
    assert "is not started; add the key, or mark the reference as optional" in sentence


def test_a_key_is_shown_only_if_it_can_be_one(tmp_path: Path) -> None:
    """A terminal is no place for what anybody wrote."""
    reference = {"configMapKeyRef": {"name": "settings", "key": "\x1b[31m"}}
    app = {"name": "app", "env": [{"name": NAME, "valueFrom": reference}]}
    path = manifest(tmp_path, config_map(OTHER="1"), workload(app))
    assert ".env[0].valueFrom.configMapKeyRef.key is no key" in refused("--client=java", "-f", path)


def test_a_flag_says_what_cannot_be_seen_and_no_more(tmp_path: Path) -> None:
    """What stands in the file wins."""
    app = container(env={NAME: "20000"}, envFrom=[{"secretRef": {"name": "s"}}])
    flags = ("--session-timeout=40s", "--heartbeat-interval=2s", "--fetch-wait=2s")
    (subject,) = checked("--client=kafkajs", "-f", manifest(tmp_path, workload(app)), *flags)
    assert [one["milliseconds"] for one in subject["settings"].values()] == [20_000, 2_000, 2_000, None]
    assert rules(subject) == []


def test_the_consumer_s_container_is_named(tmp_path: Path) -> None:
    """Workloads without it are passed over, and said so."""
    both = workload(container("app", STORM), container("proxy"))
    path = manifest(tmp_path, both, workload(container("web"), name="web"))
    assert "Deployment orders has the containers app, proxy; say with --container" in refused(
        "--client=kafkajs", "-f", path
    )
    sentence = refused("--client=kafkajs", "-f", path, "--container=gone")
    assert "no container of that name: Deployment orders has app, proxy; Deployment web has web" in sentence
    result = run("check", "--client=kafkajs", "-f", path, "--container=app")
    assert result.exit_code == 1
    assert "Deployment orders, container app: kafkajs" in result.stdout
    assert result.stderr == "not checked: Deployment web has no container app\n"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "there is no Deployment, StatefulSet, DaemonSet, ReplicaSet, Job, Pod to check\n"),
        ("kind: Service", "there is no Deployment, "),
        ("kind: [Deployment]", "document 1.kind is no text"),
        ("kind: {a: b}", "document 1.kind is no text"),
        ("kind: 5", "document 1.kind is no text"),
        ("kind: List\nitems: [{kind: [Pod]}]", "document 1.items[0].kind is no text"),
        ("kind: DeploymentList\nitems: {a: b}", "document 1.items is no list"),
        ("just words", "document 1 is no mapping of names to values"),
        ("- a\n- b", "document 1 is no mapping"),
        ("{{ .Values.x }}: {", "is no YAML"),
        (f"a: [{PASSWORD}", "is no YAML"),
        ("a: !!python/object:os.system x", "has a tag (!)"),
        ("a: !!timestamp x", "has a tag (!)"),
        ("a: !!int 9", "has a tag (!)"),
        ("a: \x00", "is no YAML"),
        ("a: &x [*x]", "line 1 has an alias (*) for nothing that is complete before it"),
        ("a: *x", "has an alias (*) for nothing"),
        ("[" * 100_000, "is more than is read"),
        ("\n".join(f"{'  ' * level}a:" for level in range(100)), "is more than is read"),
        ("kind: Deployment", "document 1.metadata is no mapping"),
        ("kind: Deployment\nmetadata: {name: [a]}", "document 1.metadata.name is no name"),
        ('kind: Deployment\nmetadata: {name: "a\\e[31m"}', "document 1.metadata.name is no name"),
        ("kind: Deployment\nmetadata: {name: a}\nspec: 5", "document 1.spec is no mapping"),
        ("kind: Pod\nmetadata: {name: a}\nspec: {containers: []}", "document 1.spec has no containers"),
        ("kind: Pod\nmetadata: {name: a}\nspec: {containers: {name: a}}", "document 1.spec.containers is no list"),
        ("kind: Pod\nmetadata: {name: a}\nspec: {containers: [a]}", "containers[0] is no mapping"),
        ("kind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: a, env: [5]}]}", "env[0] is no mapping"),
        (
            "kind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: a, env: [{name: A, value: 30000}]}]}",
            "env[0].value is no text, which Kubernetes refuses; put the value in quotes",
        ),
        *(
            (f"kind: ConfigMap\nmetadata: {{name: a}}\ndata: {{A: {value}}}", "document 1.data.A is no text")
            for value in (
                "-5",
                "0x1F",
                "1_000",
                "1.5",
                "1e3",
                ".5",
                "-.inf",
                ".nan",
                "1_0.5",
                "true",
                "off",
                "y",
                "[a]",
            )
        ),
        ("kind: ConfigMap\nmetadata: {name: a}\ndata: {A: 5}", "document 1.data.A is no text"),
        ("kind: ConfigMap\nmetadata: {name: a}\ndata: {[1, 2]: a}", "is no YAML"),
        (
            f"kind: Pod\nmetadata: {{name: a}}\nspec: {{containers: [{{name: a, env: [{MAYBE_OPTIONAL}]}}]}}",
            "env[0].valueFrom.configMapKeyRef.optional is neither true nor false",
        ),
        ("kind: List\nitems: {a: b}", "document 1.items is no list"),
        ("kind: List\nitems: [5]", "document 1.items[0] is no mapping"),
        ("x" * (4 * 1024 * 1024 + 1), "is larger than 4 MiB"),
        (b"\xff\xfe\xff", "is no text in UTF-8"),
    ],
    ids=lambda value: None if isinstance(value, str) and len(value) < 60 else "long",
)
def test_files_that_are_no_manifests_are_refused_in_a_sentence(text: str | bytes, sentence: str) -> None:
    """Where, and what the rule is; never a traceback, never a line of the file."""
    assert sentence in refused("--client=kafkajs", "-f-", stdin=text)


@pytest.mark.parametrize(
    "value",
    [
        ":".join(["1"] * 800_000),  # computed, it takes longer than a test may
        ":".join(["1"] * 200) + ".5",
        "9" * 100_000,
        "2026-99-99",
        "0001-01-01T00:00:00+01:00",
        "=",
    ],
    ids=["base 60", "base 60 and more than a float", "many digits", "no date", "before all dates", "equals"],
)
def test_what_is_no_number_that_a_machine_has_is_passed_over(value: str) -> None:
    """As kubectl does; to compute it takes the square of its length, or fails."""
    text = f"x: {value}\n---\n{yaml.safe_dump(workload())}"
    assert len(checked("--client=kafkajs", "-f-", stdin=text)) == 1


@pytest.mark.parametrize("key", ["8080", "1.5", "on", "null", "2026-01-01"])
def test_keys_of_a_config_map_need_no_quotes(key: str) -> None:
    """The API server takes them as text."""
    text = f"kind: ConfigMap\nmetadata: {{name: a}}\ndata: {{{key}: a}}\n---\n{yaml.safe_dump(workload())}"
    assert len(checked("--client=kafkajs", "-f-", stdin=text)) == 1


@pytest.mark.parametrize("join", ["[{}]", "{{<<: [{}]}}"], ids=["lists", "merges"])
def test_a_bomb_of_aliases_does_not_go_off(join: str) -> None:
    """Ten times ten times ten, and so on, from a few lines."""
    levels = ["a0: &a0 {k: v}"]
    levels += [f"a{n}: &a{n} " + join.format(", ".join([f"*a{n - 1}"] * 10)) for n in range(1, 12)]
    assert "is more than is read" in refused("--client=kafkajs", "-f-", stdin="\n".join(levels))


def test_anchors_are_read(tmp_path: Path) -> None:
    """People use them; kubectl reads them."""
    text = f"""
        kind: Pod
        metadata: {{name: orders}}
        spec:
          containers:
            - name: app
              env:
                - &wait {{name: KAFKA_MAX_WAIT_TIME_MS, value: "2000"}}
                - {{<<: *wait, name: {NAME}}}
    """
    path = tmp_path / "deploy.yaml"
    path.write_text(textwrap.dedent(text))
    (subject,) = checked("--client=kafkajs", "-f", path)
    assert subject["settings"]["sessionTimeout"]["milliseconds"] == 2_000


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--client=kafkaj"], "client library 'kafkaj' is unknown; did you mean kafkajs? known are aiokafka,"),
        ([], "Missing option '--client'"),
        (["--client=java", "--session-timeout=30"], "'30' has no unit; write 30ms or 30s, whichever is meant"),
        (["--client=java", "--session-timeout=4.5"], "'4.5' has no unit; write 4.5ms or 4.5s, whichever is meant"),
        (["--client=java", "--session-timeout=abc"], "'abc' is not a duration; write it like 45s"),
        (["--client=java", "--session-timeout=0s"], "'0s' is not between 1ms and"),
        (["--client=java", "--handler-time=600h"], "'600h' is not between 1ms and"),
        (["--client=java", "--brokers=0"], "'--brokers'"),
        (["--client=kafkajs", "--max-poll-interval=5m"], "KafkaJS has no max poll interval"),
        (["--client=java", "--rebalance-timeout=1m"], "max.poll.interval.ms plays its part; say it with --max-poll-in"),
        (
            ["--client=connect", "--max-poll-interval=1m"],
            "rebalance.timeout.ms plays its part; say it with --rebalance",
        ),
        (["--client=confluent-kafka-javascript", "--rebalance-timeout=1m"], "rebalanceTimeout plays its part; say it"),
        (
            ["--client=kafka-node", "--rebalance-timeout=1m"],
            "sessionTimeout plays its part; say it with --session-time",
        ),
        (
            ["--client=sarama", "--max-poll-interval=1m"],
            "nothing plays its part, and a member whose handler hangs keeps",
        ),
        (["--client=connect", "--handler-time=1m"], "check the consumers of its sink tasks with --client java"),
        (["--client=java", "--client-version=5.0"], "the nearest known version is 4.4"),
        (
            ["--client=spring", "-fa", "--preset=x"],
            "--preset x: Spring Kafka is known with spring, spring-underscores and",
        ),
        (["--client=spring", "--preset=plain"], "name the file with --env-file or --filename"),
        (["--client=java", "-fa", "--env=rebalanceTimeout=X"], "plays its part; say it with --env maxPollInterval=X"),
        (["--client=kafkajs", "-fa", "--env=maxPollInterval=X"], "--env maxPollInterval=X: KafkaJS has no max poll"),
        (["--client=kafkajs", "--group-protocol=consumer"], "groups of KafkaJS are classic ones"),
        (["--client=java", "--env-file=a", "-fb"], "cannot be used together"),
        (["--client=java", "--container=app"], "name the manifest with --filename"),
        (["--client=java", "--env=sessionTimeout=X"], "name the file with --env-file or --filename"),
        (["--client=java", "-fa", "--env=session=X"], "with one of sessionTimeout, heartbeatInterval, fetchWait"),
        (["--client=java", "-fa", "--env=sessionTimeout=A B"], "'A B' cannot be the name of a variable"),
        (["--client=java", "-f/does/not/exist"], "/does/not/exist cannot be read: No such file or directory"),
        (["--client=java", "--env-file=/"], "/ cannot be read: Is a directory"),
        (
            ["--client=kafkajs", "--env-file=-", "--env=sessionTimeout=X", "--env=heartbeatInterval=X"],
            "X is the variable of sessionTimeout and of heartbeatInterval",
        ),
    ],
)
def test_command_lines_that_cannot_be_used_are_refused(arguments: list[str], sentence: str) -> None:
    """Exit status 2, and a sentence with the option, the value and the rule."""
    assert sentence in refused(*arguments)
