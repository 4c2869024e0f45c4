"""What `heartbeat-tuner check` reads from manifests, and which it refuses."""

import json
import textwrap
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.checks import (
    PASSWORD,
    checked,
    config_map,
    container,
    manifest,
    refused,
    rules,
    run,
    unread,
    workload,
)

STORM = {"KAFKA_SESSION_TIMEOUT_MS": "1000", "KAFKA_HEARTBEAT_INTERVAL_MS": "333", "KAFKA_MAX_WAIT_TIME_MS": "5000"}


NAME = "KAFKA_SESSION_TIMEOUT_MS"


MAYBE_OPTIONAL = "{valueFrom: {configMapKeyRef: {name: a, key: a, optional: maybe}}}"


GONE_KEY = {"name": "settings", "key": "gone"}


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job", "Pod"])
def test_workloads_are_read_with_their_config_maps(kind: str, tmp_path: Path) -> None:
    """A literal entry wins over the map."""
    app = container(env={NAME: "2000"}, envFrom=[{"configMapRef": {"name": "settings"}}])
    path = manifest(tmp_path, config_map(**STORM), workload(app, kind=kind))
    (subject,) = checked("--client=kafkajs", "-f", path)
    assert subject["subject"] == f"{kind} orders, container app"
    assert [setting["milliseconds"] for setting in subject["settings"].values()] == [2_000, 333, 5_000, 60_000]


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
    """Nobody may believe a workload to be sound that was not looked at."""
    template = {"template": {"spec": {"containers": [{"name": "app"}]}}}
    others = [
        {"kind": "CloneSet", "metadata": {"name": "web", "namespace": "shop"}, "spec": template},
        {"kind": "Schedule", "metadata": {"name": "nightly"}, "spec": {"jobTemplate": {"spec": template}}},
        {"kind": "JobSet", "metadata": {}, "spec": {"replicatedJobs": [{"template": {"spec": template}}]}},
        {"kind": "Odd\x1b[31m", "metadata": {"name": "odd"}, "spec": template},
        {"kind": "Service", "metadata": {"name": "web"}, "spec": {"template": "of another sort"}},
    ]
    sound = workload(container(env={NAME: "30000", "KAFKA_MAX_WAIT_TIME_MS": "3000"}))
    result = run("check", "--client=kafkajs", "-f", manifest(tmp_path, sound, *others))
    assert result.exit_code == 0
    why = "has a pod template, but is of a kind that is not known"
    assert result.stderr.replace(f"{tmp_path}/", "").splitlines() == [
        f"not checked: CloneSet shop/web {why}",
        f"not checked: Schedule nightly {why}",
        f"not checked: deploy.yaml, document 4 {why}",
        f"not checked: deploy.yaml, document 5 {why}",
    ]
    sentence = unread("--client=kafkajs", "-f", manifest(tmp_path, *others))
    assert "no setting of a Kafka consumer that is known; CloneSet shop/web, Schedule nightly, " in sentence


def test_a_file_that_is_named_twice_is_refused(tmp_path: Path) -> None:
    """The second reading of the standard input gives nothing, and would take the first one's place."""
    stdin = json.dumps(workload())
    assert "standard input is named twice; name it once" in refused("--client=java", "-f-", "-f-", stdin=stdin)
    path = manifest(tmp_path, workload())
    assert f"{path} is named twice" in refused("--client=java", "-f", path, "-f-", "-f", path, stdin=stdin)


def test_files_that_are_shown_alike_are_all_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name is no key."""
    storm = workload(container(env=STORM))
    manifest(tmp_path, storm, name="standard input")
    monkeypatch.chdir(tmp_path)
    assert len(checked("--client=kafkajs", "-f", "standard input", "-f-", stdin=json.dumps(storm))) == 2


def test_an_entry_without_a_value_is_an_empty_text(tmp_path: Path) -> None:
    """The container gets it as such, whatever the library's default is."""
    path = manifest(tmp_path, workload({"name": "app", "env": [{"name": NAME}]}))
    assert f'has {NAME}="", which is no whole number of milliseconds' in unread("--client=kafkajs", "-f", path)


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
    ],
)
def test_what_cannot_be_seen_is_no_default(more: dict[str, Any], origin: str, tmp_path: Path) -> None:
    """A Secret, or a map that is not there, may set what nothing else sets."""
    env = [*more.get("env", []), {"name": "KAFKA_BROKERS", "value": "kafka:9092"}]
    path = manifest(tmp_path, config_map(OTHER="1"), workload({"name": "app", **more, "env": env}))
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
    sentence = unread("--client=java", "-f", manifest(tmp_path, config_map(OTHER="1"), workload(app)))
    assert f"Deployment orders, container app has {name} from ConfigMap settings, which has no key gone: " in sentence
    assert "is not started; add the key, or mark the reference as optional" in sentence


def test_a_key_is_shown_only_if_it_can_be_one(tmp_path: Path) -> None:
    """A terminal is no place for what anybody wrote."""
    reference = {"configMapKeyRef": {"name": "settings", "key": "\x1b[31m"}}
    app = {"name": "app", "env": [{"name": NAME, "valueFrom": reference}]}
    path = manifest(tmp_path, config_map(OTHER="1"), workload(app))
    assert ".env[0].valueFrom.configMapKeyRef.key is no key" in unread("--client=java", "-f", path)


def test_a_flag_says_what_cannot_be_seen_and_no_more(tmp_path: Path) -> None:
    """What stands in the file wins."""
    app = container(env={NAME: "20000"}, envFrom=[{"secretRef": {"name": "s"}}])
    flags = ("--session-timeout=40s", "--heartbeat-interval=2s", "--fetch-wait=2s")
    (subject,) = checked("--client=kafkajs", "-f", manifest(tmp_path, workload(app)), *flags)
    assert [setting["milliseconds"] for setting in subject["settings"].values()] == [20_000, 2_000, 2_000, None]
    assert rules(subject) == []


def test_the_consumer_s_container_is_named(tmp_path: Path) -> None:
    """Workloads without it are passed over, and said so."""
    both = workload(container("app", STORM), container("proxy", {"KAFKA_BROKERS": "a"}))
    path = manifest(tmp_path, both, workload(container("web"), name="web"))
    subjects = [subject["subject"] for subject in checked("--client=kafkajs", "-f", path)]
    assert subjects == ["Deployment orders, container app", "Deployment orders, container proxy"]
    sentence = refused("--client=kafkajs", "-f", path, "--container=gone")
    assert (
        "no container of that name: Deployment orders, container app; Deployment orders, container proxy; D" in sentence
    )
    result = run("check", "--client=kafkajs", "-f", path, "--container=app")
    assert result.exit_code == 1
    assert "Deployment orders, container app: kafkajs" in result.stdout
    assert result.stderr == "not checked: Deployment web has no container app\n"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "standard input has no setting of a Kafka consumer that is known"),
        ("kind: Service", "standard input has no setting of a Kafka consumer that is known"),
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
    ],
    ids=lambda value: None if isinstance(value, str) and len(value) < 60 else "long",
)
def test_files_that_are_no_manifests_are_refused_in_a_sentence(text: str | bytes, sentence: str) -> None:
    """Where, and what the rule is; never a traceback, never a line of the file."""
    assert sentence in unread("--client=kafkajs", "-f-", stdin=text)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [("x" * (4 * 1024 * 1024 + 1), "is larger than 4 MiB"), (b"\xff\xfe\xff", "is no text in UTF-8")],
    ids=["too large", "binary"],
)
def test_files_that_are_no_text_are_refused(text: str | bytes, sentence: str) -> None:
    """There is nothing that a finding could be about."""
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
    assert "is more than is read" in unread("--client=kafkajs", "-f-", stdin="\n".join(levels))


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


def test_a_file_of_a_folder_that_cannot_be_read_hides_no_other(tmp_path: Path) -> None:
    """It is a finding of its own, however it cannot be read; a folder with nothing else says no more than that."""
    bad, other = tmp_path / "bad", tmp_path / "other"
    for folder in (bad, other):
        folder.mkdir()
        (folder / "a.env").write_bytes(b"\xff\xfe\x00A=1")
        (folder / "b.env").write_bytes(b"A=" + b"1" * (4 * 1024 * 1024))
    manifest(other, workload({"name": "app", "env": [{"name": NAME, "value": "1000"}]}))
    messages = [finding["message"] for entry in checked(bad) for finding in entry["findings"]]
    assert [message.partition("bad/")[2] for message in messages] == [
        "a.env is no text in UTF-8",
        "b.env is larger than 4 MiB, which is more than is read",
    ]
    assert sum(finding["code"] == "HT001" for entry in checked(other) for finding in entry["findings"]) == 2
    assert [entry["settings"]["sessionTimeout"] for entry in checked(other) if entry["settings"]] == [
        {"milliseconds": 1000, "origin": "given"}
    ]


def test_properties_may_be_in_the_encoding_that_java_reads(tmp_path: Path) -> None:
    """A comment in ISO 8859-1 hides no setting; what is no text at all is still none."""
    path = tmp_path / "consumer.properties"
    path.write_bytes("# Größe\nsession.timeout.ms=6000\n".encode("iso-8859-1"))
    (entry,) = checked("--client=java", path)
    assert entry["settings"]["sessionTimeout"] == {"milliseconds": 6000, "origin": "given"}
    path.write_bytes(b"\xff\xfe\0session.timeout.ms=6000")
    assert "is no text in UTF-8" in refused("--client=java", path)


@pytest.mark.parametrize("endless", ["/dev/zero", "large"])
def test_a_file_that_another_names_is_read_within_limits(endless: str, tmp_path: Path) -> None:
    """Compose's env_file may name a device, or a file that no machine could hold; the rest is checked."""
    with (tmp_path / "large").open("wb") as file:
        file.truncate(1 << 40)  # a hole: it takes no place
    service = {"image": "app", "env_file": endless, "environment": {NAME: "1000"}}
    path = tmp_path / "compose.yaml"
    path.write_text(yaml.safe_dump({"services": {"app": service}}))
    (entry,) = checked("--client=kafkajs", path)
    assert entry["settings"]["sessionTimeout"]["milliseconds"] == 1000
