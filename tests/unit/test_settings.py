"""The operator's configuration: read, or refused by field."""

import json
from datetime import timedelta
from pathlib import Path

import pytest
import trustme
import yaml
from cryptography.hazmat.primitives import serialization

from heartbeat_tuner import settings
from heartbeat_tuner.domain.errors import InvalidSettingsError
from heartbeat_tuner.domain.grants import Grant
from heartbeat_tuner.settings import webhook_settings

MINIMAL = """
prometheus: {url: "http://prometheus:9090"}
kafka: {clusters: {main: {bootstrapServers: "kafka:9092"}}}
"""


def loaded(folder: Path, text: str) -> settings.Settings:
    """Load a file with that text."""
    path = folder / "config.yaml"
    path.write_text(text)
    return settings.load(path)


def test_a_minimal_file_has_defaults(tmp_path: Path) -> None:
    """Addresses have to be given, times do not."""
    found = loaded(tmp_path, MINIMAL)
    assert found.prometheus.url == "http://prometheus:9090"
    assert found.kafka.clusters["main"].bootstrap_servers == "kafka:9092"
    assert found.interval == timedelta(seconds=60)
    assert (found.rollout.max_concurrent, found.shards) == (5, 1)
    assert (found.http.address, found.http.port) == ("", 8080)


def test_shards_need_a_rollout_each_or_none_at_all(tmp_path: Path) -> None:
    """A fleet in which nothing is rolled out may be divided as well."""
    assert loaded(tmp_path, MINIMAL + "shards: 5").shards == 5
    assert loaded(tmp_path, MINIMAL + "shards: 16\nrollout: {maxConcurrent: 0}").shards == 16


def test_times_are_durations(tmp_path: Path) -> None:
    """As everywhere else."""
    assert loaded(tmp_path, MINIMAL + "interval: 1m30s").interval == timedelta(seconds=90)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "(whole file): "),
        ("- a", "(whole file): "),
        (
            MINIMAL.replace("bootstrapServers", "bootstrap_servers"),
            "kafka.clusters.main.bootstrap_servers: there is no such field; did you mean bootstrapServers?",
        ),
        (
            MINIMAL.replace('"kafka:9092"', '"kafka:9092", bootstrap_servers: "other:9092"'),
            "kafka.clusters.main.bootstrap_servers: there is no such field; did you mean bootstrapServers?",
        ),
        ("kafka: {clusters: {}}", "prometheus: this field is required; add it"),
        (
            MINIMAL.replace("http://", ""),
            "prometheus.url: write http://prometheus:9090 or https://…: 'prometheus:9090'",
        ),
        (
            MINIMAL.replace("bootstrapServers", "servers"),
            "kafka.clusters.main.servers: there is no such field; did you mean bootstrapServers?",
        ),
        (MINIMAL + "interval: 60", "interval: 60 has no unit; write a duration as text, such as 60s"),
        (MINIMAL + "interval: 1w", "interval: '1w' is not a duration"),
        (MINIMAL + "interval: 0s", "interval: '0s' is not between 100ms and 10m; choose a time within that"),
        (MINIMAL + "interval: 99ms", "interval: '99ms' is not between 100ms and 10m"),
        (MINIMAL + "interval: 601s", "interval: '601s' is not between 100ms and 10m"),
        (MINIMAL + "kubernetes: {timeout: 99ms}", "kubernetes.timeout: '99ms' is not between 100ms and 1m"),
        (MINIMAL + "kubernetes: {timeout: 61s}", "kubernetes.timeout: '61s' is not between 100ms and 1m"),
        (MINIMAL.replace("kafka: {", "kafka: {timeout: 5ms, "), "kafka.timeout: '5ms' is not between 100ms and 1m"),
        (MINIMAL.replace("kafka: {", "kafka: {timeout: 10m, "), "kafka.timeout: '10m' is not between 100ms and 1m"),
        (MINIMAL.replace("prometheus: {", "prometheus: {timeout: 2m, "), "prometheus.timeout: '2m' is not between"),
        (
            MINIMAL + "leaderElection: {retryPeriod: 0s}",
            "leaderElection.retryPeriod: '0s' is not greater than zero; write a longer time",
        ),
        (MINIMAL + "rollout: {maxConcurrent: -1}", "rollout.maxConcurrent: -1 is below the lowest value, 0; raise it"),
        (MINIMAL + "rollout: {maxConcurrent: 10%}", "rollout.maxConcurrent: '10%' is not a whole number; write digits"),
        (MINIMAL + "rollout: {maxConcurrent: 2.5}", "rollout.maxConcurrent: 2.5 is not a whole number; write digits"),
        (MINIMAL + "shards: 0", "shards: 0 is below the lowest value, 1; raise it"),
        (MINIMAL + "shards: 17", "shards: 17 is above the highest value, 16; lower it"),
        (MINIMAL + "shards: two", "shards: 'two' is not a whole number; write digits alone, without quotes"),
        (
            MINIMAL + "shards: 6",
            "rollout.maxConcurrent 5 is less than shards 6, and so a shard would have no rollout at all",
        ),
        (MINIMAL + "http: {port: 0}", "http.port: 0 is below the lowest value, 1; raise it"),
        (
            MINIMAL + "leaderElection: {leaseDuration: 2.5s, renewDeadline: 2s, retryPeriod: 1s}",
            "leaderElection: leaseDuration 2.5s must be whole seconds",
        ),
        (
            MINIMAL + "leaderElection: {leaseDuration: 10s}",
            "leaderElection: leaseDuration 10s must be greater than renewDeadline 10s",
        ),
        (
            MINIMAL + "leaderElection: {retryPeriod: 10s}",
            "leaderElection: renewDeadline 10s must be greater than retryPeriod 10s",
        ),
        (MINIMAL + "kubernetes: {namespaces: [shop, shop]}", "kubernetes.namespaces: shop is named twice"),
        (
            MINIMAL + "kubernetes: {namespaces: [Shop]}",
            "kubernetes.namespaces.0: 'Shop' does not fit; write a name of lower-case",
        ),
        (MINIMAL + "leaderElection: {leaseName: Not_A_Name}", "leaderElection.leaseName: 'Not_A_Name' does not fit"),
        (
            MINIMAL + "leaderElection: {enabled: false}",
            "leaderElection.enabled: there is no such field; take it out; the fields here are namespace, leaseName",
        ),
        (MINIMAL + "intervall: 60s", "intervall: there is no such field; did you mean interval?"),
    ],
)
def test_what_does_not_fit_is_named_by_field(tmp_path: Path, text: str, sentence: str) -> None:
    """File, field and rule in one message."""
    with pytest.raises(InvalidSettingsError) as caught:
        loaded(tmp_path, text)
    assert str(tmp_path / "config.yaml") in str(caught.value)
    assert sentence in str(caught.value)


SASL = "mechanism: PLAIN, username: tuner, passwordFile: /password"
CLUSTER = "kafka.clusters.main"


def reached(by: str) -> str:
    """Return a file whose cluster is reached in some way."""
    return MINIMAL.replace('"kafka:9092"', f'"kafka:9092", {by}')


def test_heartbeats_have_no_budget_unless_one_is_set(tmp_path: Path) -> None:
    """In requests a second, of one Kafka cluster."""
    assert loaded(tmp_path, MINIMAL).kafka.clusters["main"].heartbeat_budget is None
    assert loaded(tmp_path, reached("heartbeatBudget: 2.5")).kafka.clusters["main"].heartbeat_budget == 2.5


def test_groups_are_not_altered_unless_that_is_set(tmp_path: Path) -> None:
    """Kafka is only read by default, and a word that is no boolean is none."""
    assert not loaded(tmp_path, MINIMAL).kafka.clusters["main"].alter_groups
    assert loaded(tmp_path, reached("alterGroups: true")).kafka.clusters["main"].alter_groups
    with pytest.raises(InvalidSettingsError, match=rf"{CLUSTER}\.alterGroups: "):
        loaded(tmp_path, reached("alterGroups: sometimes"))


@pytest.mark.parametrize("budget", ["0", "-1", ".inf", ".nan", "10s"])
def test_a_budget_is_a_number_of_requests(tmp_path: Path, budget: str) -> None:
    """None of them would be noticed as a mistake otherwise: who wants no limit leaves it out."""
    with pytest.raises(InvalidSettingsError, match=rf"{CLUSTER}\.heartbeatBudget: "):
        loaded(tmp_path, reached(f"heartbeatBudget: {budget}"))


def test_nothing_is_granted_unless_it_is_said(tmp_path: Path) -> None:
    """Each grant names its namespaces and its groups."""
    assert loaded(tmp_path, MINIMAL).kafka.clusters["main"].granted == ()
    text = reached('grants: [{namespaces: [shop, "*"], groups: ["*", orders, "a b*"]}]')
    assert loaded(tmp_path, text).kafka.clusters["main"].granted == (Grant(("shop", "*"), ("*", "orders", "a b*")),)


@pytest.mark.parametrize(
    ("grant", "field", "sentence"),
    [
        ('{namespaces: [], groups: ["*"]}', "namespaces", "there are fewer entries than the minimum, 1; add some"),
        ("{namespaces: [shop]}", "groups", "this field is required; add it"),
        ("{namespaces: [shop], groups: []}", "groups", "there are fewer entries than the minimum, 1; add some"),
        ('{namespaces: ["shop-*"], groups: [a]}', "namespaces.0", "'shop-*' is no namespace; write its whole name"),
        ("{namespaces: [Shop], groups: [a]}", "namespaces.0", "'Shop' is no namespace"),
        ('{namespaces: [shop], groups: [""]}', "groups.0", "'' is no pattern of groups"),
        ('{namespaces: [shop], groups: ["a*b"]}', "groups.0", "'a*b' is no pattern of groups; write a group's name"),
        ('{namespaces: [shop], groups: ["a**"]}', "groups.0", "one * at its end, like orders-*"),
        ('{namespaces: [shop], groups: ["a\\n"]}', "groups.0", "must not hold control"),
    ],
)
def test_a_grant_that_would_mean_nothing_is_refused(tmp_path: Path, grant: str, field: str, sentence: str) -> None:
    """With the field, what it holds, and what to write."""
    with pytest.raises(InvalidSettingsError) as caught:
        loaded(tmp_path, reached(f"grants: [{grant}]"))
    assert f"{CLUSTER}.grants.0.{field}: " in str(caught.value)
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("servers", "addresses"),
    [
        ("kafka:9092", "kafka:9092"),
        ("a.example:9092, b.example:9093 ", "a.example:9092,b.example:9093"),
        ("[2001:db8::1]:9092", "[2001:db8::1]:9092"),
        ("127.0.0.1:65535", "127.0.0.1:65535"),
    ],
)
def test_brokers_are_hosts_with_ports(tmp_path: Path, servers: str, addresses: str) -> None:
    """White space is dropped."""
    assert (
        loaded(tmp_path, MINIMAL.replace("kafka:9092", servers)).kafka.clusters["main"].bootstrap_servers == addresses
    )


@pytest.mark.parametrize(
    "servers",
    [
        "kafka",
        "kafka:",
        ":9092",
        "kafka:0",
        "kafka:65536",
        "kafka:9092,",
        "SASL_SSL://kafka:9092",
        "a:1;b:2",
        "::1:9092",
        "",
    ],
)
def test_what_is_no_list_of_brokers_is_told(tmp_path: Path, servers: str) -> None:
    """Field, value, rule and an example."""
    with pytest.raises(InvalidSettingsError) as caught:
        loaded(tmp_path, MINIMAL.replace("kafka:9092", servers))
    assert f"{CLUSTER}.bootstrapServers: {servers!r} is not a list of brokers; write host:port" in str(caught.value)


@pytest.mark.parametrize(
    "by",
    [
        "securityProtocol: SSL",
        "securityProtocol: SSL, tls: {caFile: /ca, certFile: /cert, keyFile: /key, keyPasswordFile: /key-password}",
        f"securityProtocol: SASL_PLAINTEXT, sasl: {{{SASL}}}",
        f"securityProtocol: SASL_SSL, sasl: {{{SASL}}}, tls: {{caFile: /ca}}",
        "securityProtocol: SASL_SSL, sasl: {mechanism: SCRAM-SHA-512, usernameFile: /user, passwordFile: /password}",
    ],
)
def test_clusters_are_reached_in_each_of_kafkas_ways(tmp_path: Path, by: str) -> None:
    """With what belongs to each."""
    loaded(tmp_path, reached(by))


@pytest.mark.parametrize(
    ("by", "sentence"),
    [
        ("securityProtocol: TLS", f"{CLUSTER}.securityProtocol: 'TLS' is not one of the values; write PLAINTEXT, SSL"),
        ("securityProtocol: SASL_SSL", f"{CLUSTER}: securityProtocol SASL_SSL needs sasl, which is not set; add"),
        (
            f"sasl: {{{SASL}}}",
            f"{CLUSTER}: sasl is set, and securityProtocol PLAINTEXT makes no use of it; set SASL_SSL or",
        ),
        (f"securityProtocol: SSL, sasl: {{{SASL}}}", "securityProtocol SSL makes no use of it; set SASL_SSL"),
        ("tls: {caFile: /ca}", f"{CLUSTER}: tls is set, and securityProtocol PLAINTEXT makes no use of it; set SSL or"),
        (
            f"securityProtocol: SASL_PLAINTEXT, sasl: {{{SASL}}}, tls: {{caFile: /ca}}",
            "securityProtocol SASL_PLAINTEXT makes no use of it; set SASL_SSL",
        ),
        (
            "securityProtocol: SASL_SSL, sasl: {username: a, passwordFile: /password}",
            f"{CLUSTER}.sasl.mechanism: this field is required; add it",
        ),
        (
            "securityProtocol: SASL_SSL, sasl: {mechanism: GSSAPI, username: a, passwordFile: /password}",
            f"{CLUSTER}.sasl.mechanism: 'GSSAPI' is not one of the values; write PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512",
        ),
        (
            "securityProtocol: SASL_SSL, sasl: {mechanism: PLAIN, passwordFile: /password}",
            f"{CLUSTER}.sasl: one of username and usernameFile must be set, and neither is; set one",
        ),
        (
            f"securityProtocol: SASL_SSL, sasl: {{{SASL}, usernameFile: /user}}",
            f"{CLUSTER}.sasl: one of username and usernameFile must be set, and both are; set one",
        ),
        (
            "securityProtocol: SASL_SSL, sasl: {mechanism: PLAIN, username: a}",
            f"{CLUSTER}.sasl.passwordFile: this field is required; add it",
        ),
        (
            "securityProtocol: SASL_SSL, sasl: {mechanism: PLAIN, username: a, password: s3cret}",
            f"{CLUSTER}.sasl: password may not stand in this file, which is no Secret; mount the Secret",
        ),
        ("securityProtocol: SSL, tls: {certFile: /c}", "certFile is '/c', and keyFile is not set, which belongs to it"),
        ("securityProtocol: SSL, tls: {keyFile: /k}", "keyFile is '/k', and certFile is not set"),
        ("securityProtocol: SSL, tls: {keyPasswordFile: /p}", "keyPasswordFile is '/p', and keyFile is not set"),
        ("securityProtocol: SSL, tls: {caFile: 7}", f"{CLUSTER}.tls.caFile: 7 is not a path; write it as text"),
    ],
)
def test_what_does_not_go_together_is_told(tmp_path: Path, by: str, sentence: str) -> None:
    """Field, rule and fix; a password that stands in the file is not repeated."""
    with pytest.raises(InvalidSettingsError) as caught:
        loaded(tmp_path, reached(by))
    assert sentence in str(caught.value)
    assert "s3cret" not in str(caught.value)


def test_the_lease_is_in_the_pod_s_namespace_unless_told(tmp_path: Path) -> None:
    """Outside a pod it must be told."""
    found = loaded(tmp_path, MINIMAL).leader_election
    assert (found.lease_name, found.lease_duration) == ("heartbeat-tuner", timedelta(seconds=15))
    assert (found.renew_deadline, found.retry_period) == (timedelta(seconds=10), timedelta(seconds=2))
    account = tmp_path / "namespace"
    with pytest.raises(InvalidSettingsError, match=r"leaderElection\.namespace is not set, and .*No such file"):
        found.where(account)
    account.write_text("tuning\n")
    assert found.where(account) == "tuning"
    report = loaded(tmp_path, MINIMAL + "leaderElection: {namespace: elsewhere}").leader_election
    assert report.where(account) == "elsewhere"


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    """And so is why it cannot be read."""
    with pytest.raises(InvalidSettingsError, match=r"missing\.yaml cannot be read: No such file or directory"):
        settings.load(tmp_path / "missing.yaml")


def test_the_ends_of_a_range_are_within_it(tmp_path: Path) -> None:
    """And so are the times that tests of the whole operator need."""
    assert loaded(tmp_path, MINIMAL + "interval: 100ms").interval == timedelta(milliseconds=100)
    assert loaded(tmp_path, MINIMAL + "interval: 10m").interval == timedelta(minutes=10)
    assert loaded(tmp_path, MINIMAL + "kubernetes: {timeout: 1m}").kubernetes.timeout == timedelta(minutes=1)


def prometheus(**fields: object) -> str:
    """Return a file's text with these fields of its section `prometheus`."""
    return json.dumps({**yaml.safe_load(MINIMAL), "prometheus": {"url": "https://prometheus:9090", **fields}})


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder of a certificate and its key, the authority, a secret, and what is none of these."""
    authority = trustme.CA()
    client = authority.issue_cert("client")
    authority.cert_pem.write_to_path(str(tmp_path / "ca.crt"))
    client.cert_chain_pems[0].write_to_path(str(tmp_path / "tls.crt"))
    client.private_key_pem.write_to_path(str(tmp_path / "tls.key"))
    authority.issue_cert("other").private_key_pem.write_to_path(str(tmp_path / "other.key"))
    key = serialization.load_pem_private_key((tmp_path / "tls.key").read_bytes(), None)
    (tmp_path / "locked.key").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(b"a password"),
        )
    )
    (tmp_path / "secret").write_text("hidden\n")
    return tmp_path


def test_all_of_prometheus_can_be_said(files: Path) -> None:
    """In the words that Prometheus' own configuration has, in camel case."""
    tls = {name: f"{files}/{file}" for name, file in (("caFile", "ca.crt"), ("certFile", "tls.crt"))}
    found = loaded(
        files,
        prometheus(
            url="https://mimir.example:8443/prometheus",
            timeout="5s",
            headers={"X-Scope-OrgID": "team-a|team-b"},
            basicAuth={"username": "operator", "passwordFile": f"{files}/secret"},
            tls={**tls, "keyFile": f"{files}/tls.key", "serverName": "mimir"},
            maxAnswerBytes=65_536,
        ),
    ).prometheus
    assert found.url == "https://mimir.example:8443/prometheus"
    assert found.headers == {"X-Scope-OrgID": "team-a|team-b"}
    assert found.basic_auth is not None
    assert (found.basic_auth.username, found.basic_auth.password_file) == ("operator", files / "secret")
    assert found.tls is not None
    assert (found.tls.ca_file, found.tls.server_name) == (files / "ca.crt", "mimir")
    assert (found.tls.cert_file, found.tls.key_file) == (files / "tls.crt", files / "tls.key")
    assert found.max_answer_bytes == 65_536
    token = {"bearerTokenFile": f"{files}/secret"}
    for reached in ({"url": "https://p"}, {"url": "http://p", "allowCredentialsOverHttp": True}):
        assert loaded(files, prometheus(**reached, **token)).prometheus.bearer_token_file == files / "secret"
    assert loaded(files, prometheus(url="http://p", headers={"X-Scope-OrgID": "team-a"})).prometheus.headers


@pytest.mark.parametrize("path", ["/var/run/secrets/kubernetes.io/serviceaccount/token", "FOLDER/link"])
def test_the_pod_s_own_token_is_not_for_prometheus(files: Path, path: str) -> None:
    """It opens the API server; by whatever path it is named."""
    (files / "link").symlink_to("/run/secrets/kubernetes.io/../kubernetes.io/serviceaccount/token")
    named = path.replace("FOLDER", str(files))
    with pytest.raises(InvalidSettingsError, match=f"bearerTokenFile: .*{named} is the pod's own token for the API"):
        loaded(files, prometheus(url="https://p", bearerTokenFile=named))


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"url": "http://"}, "prometheus.url: write host and port, like http://prometheus:9090: 'http://' is no"),
        ({"url": "http://:9090"}, "prometheus.url: write host and port, like http://prometheus:9090: 'http://:9090'"),
        ({"url": "http://a:b"}, "prometheus.url: write host and port, like http://prometheus:9090: 'http://a:b'"),
        ({"url": "http://[::1"}, "prometheus.url: write host and port, like http://prometheus:9090: 'http://[::1'"),
        ({"url": "http://me:hidden@prometheus"}, "prometheus.url: holds a user or a password; use basicAuth"),
        ({"url": "http://hidden@prometheus"}, "prometheus.url: holds a user or a password; use basicAuth"),
        (
            {"url": "http://me:hidden/@prometheus"},
            "prometheus.url: write host and port, like http://prometheus:9090: the address",
        ),
        (
            {"url": "http://me:hidden@:9090"},
            "prometheus.url: write host and port, like http://prometheus:9090: the address",
        ),
        ({"url": "http://prometheus/?token=hidden"}, "prometheus.url: ends in ?... or #...; give only the part"),
        ({"url": "http://prometheus/#graph"}, "prometheus.url: ends in ?... or #..."),
        ({"headers": {"A B": "c"}}, "prometheus.headers: 'A B' is no name of a header"),
        ({"headers": {"": "c"}}, "prometheus.headers: '' is no name of a header"),
        ({"headers": {"X-Api-Key": "hidden\r\nb: c"}}, "prometheus.headers: the value of X-Api-Key has a line"),
        ({"headers": {"X-Api-Key": "hiddän hidden"}}, "prometheus.headers: the value of X-Api-Key has a"),
        ({"headers": {"X-Api-Key": " hidden"}}, "prometheus.headers: the value of X-Api-Key has a line"),
        (
            {"headers": {"X-Scope-OrgID": 5}},
            "prometheus.headers.X-Scope-OrgID: the value is not text; put it in quotes",
        ),
        ({"headers": {"authorization": "Bearer hidden"}}, "prometheus.headers: authorization is a secret"),
        ({"headers": {"Content-Length": "0"}}, "prometheus.headers: Content-Length is set by the operator itself"),
        ({"headers": {"X-A": "1", "x-a": "2"}}, "prometheus.headers: one header is given twice"),
        ({"bearerTokenFile": "FOLDER/gone"}, "prometheus.bearerTokenFile: FOLDER/gone cannot be read (No such file"),
        ({"bearerTokenFile": "FOLDER"}, "prometheus.bearerTokenFile: FOLDER cannot be read (Is a directory)"),
        (
            {"url": "http://p", "bearerTokenFile": "FOLDER/secret"},
            "prometheus: url http://p is not https, and everybody on the way could read what bearerTokenFile sends",
        ),
        (
            {"url": "HTTP://p", "basicAuth": {"username": "a", "passwordFile": "FOLDER/secret"}},
            "prometheus.url: write http://p or https://…: 'HTTP://p' has no such scheme",
        ),
        (
            {"url": "http://p", "basicAuth": {"username": "a", "passwordFile": "FOLDER/secret"}},
            "could read what basicAuth sends; give an https address, or say allowCredentialsOverHttp: true",
        ),
        ({"url": "http://p", "headers": {"X-Api-Key": "hidden"}}, "could read what the header X-Api-Key sends"),
        (
            {"allowCredentialsOverHttp": "yes"},
            "prometheus.allowCredentialsOverHttp: the value is not a boolean; write true",
        ),
        ({"bearerToken": "hidden"}, "prometheus.bearerToken: there is no such field; did you mean bearerTokenFile?"),
        ({"basicAuth": {"username": "a"}}, "prometheus.basicAuth.passwordFile: this field is required; add it"),
        (
            {"basicAuth": {"username": "a", "password": "hidden"}},
            "prometheus.basicAuth.password: there is no such field; did you mean passwordFile?",
        ),
        (
            {"basicAuth": {"username": "a:b", "passwordFile": "FOLDER/secret"}},
            "prometheus.basicAuth.username: must not hold a colon",
        ),
        (
            {"basicAuth": {"username": "", "passwordFile": "FOLDER/secret"}},
            "prometheus.basicAuth.username: the value is shorter than the minimum length, 1; write more",
        ),
        (
            {"bearerTokenFile": "FOLDER/secret", "basicAuth": {"username": "a", "passwordFile": "FOLDER/secret"}},
            "prometheus: bearerTokenFile and basicAuth are both set",
        ),
        ({"url": "http://p", "tls": {"serverName": "p"}}, "prometheus: tls is set, but url http://p is not https"),
        ({"tls": {"caFile": "FOLDER/gone"}}, "prometheus.tls.caFile: FOLDER/gone cannot be read"),
        ({"tls": {"caFile": "FOLDER/secret"}}, "prometheus.tls: caFile FOLDER/secret holds no certificate in PEM"),
        ({"tls": {"certFile": "FOLDER/tls.crt"}}, "prometheus.tls: certFile and keyFile belong together"),
        ({"tls": {"keyFile": "FOLDER/tls.key"}}, "prometheus.tls: certFile and keyFile belong together"),
        (
            {"tls": {"certFile": "FOLDER/tls.crt", "keyFile": "FOLDER/other.key"}},
            "prometheus.tls: certFile FOLDER/tls.crt and keyFile FOLDER/other.key are not a certificate and its key",
        ),
        (
            {"tls": {"certFile": "FOLDER/tls.crt", "keyFile": "FOLDER/locked.key"}},
            "prometheus.tls: certFile FOLDER/tls.crt and keyFile FOLDER/locked.key are not a certificate and its key",
        ),
        ({"tls": {"serverName": "a b"}}, "prometheus.tls.serverName: 'a b' does not fit; write a host name"),
        (
            {"tls": {"insecureSkipVerify": True}},
            "prometheus.tls.insecureSkipVerify: there is no such field; take it out; the fields",
        ),
        ({"maxAnswerBytes": 100}, "prometheus.maxAnswerBytes: 100 is below the lowest value, 65536; raise it"),
        ({"maxAnswerBytes": "16Mi"}, "prometheus.maxAnswerBytes: '16Mi' is not a whole number; write digits alone"),
    ],
)
def test_what_of_prometheus_does_not_fit_is_named_by_field(
    files: Path, fields: dict[str, object], sentence: str
) -> None:
    """And no secret that stands in the wrong place is repeated."""
    text = prometheus(**fields).replace("FOLDER", str(files))
    with pytest.raises(InvalidSettingsError) as caught:
        loaded(files, text)
    assert sentence.replace("FOLDER", str(files)) in str(caught.value)
    assert "hidden" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "x: 2025-99-99",
        "x: " + "9" * 9_000,
        "x: " + ":".join(["1"] * 200) + ".5",
        'x: !!int ""',
        'x: !!float ""',
        "x: !!bool perhaps",
        "x: !!timestamp never",
    ],
    ids=["date", "digits", "base 60", "int", "float", "bool", "timestamp"],
)
def test_a_number_or_date_that_is_none_is_told_in_a_sentence(tmp_path: Path, text: str) -> None:
    """PyYAML raises what Python does."""
    with pytest.raises(
        InvalidSettingsError, match=r"config\.yaml is not valid YAML: it has an impossible number or date"
    ):
        loaded(tmp_path, text)


@pytest.mark.parametrize("text", ["[" * 3_000, "{a: " * 3_000, "\n".join(" " * n + "a:" for n in range(1_500))])
def test_a_file_that_is_nested_too_deep_is_told_in_a_sentence(tmp_path: Path, text: str) -> None:
    """Not by Python's own limit."""
    with pytest.raises(InvalidSettingsError, match=r"config\.yaml is nested too deep; five levels are enough"):
        loaded(tmp_path, text)


def test_a_file_that_is_no_yaml_is_named(tmp_path: Path) -> None:
    """With the place where it breaks."""
    with pytest.raises(InvalidSettingsError, match=r"config\.yaml is no YAML: (?s:.*)line 1"):
        loaded(tmp_path, "a: [")


def test_the_webhook_has_defaults_for_all_and_is_called_by_its_service(tmp_path: Path) -> None:
    """Within a cluster nothing has to be said; another name is one more."""
    path, account = tmp_path / "webhook.yaml", tmp_path / "namespace"
    path.write_text("certificate: {names: [127.0.0.1]}")
    account.write_text("tuner\n")
    found = webhook_settings.load(path)
    assert (found.admission.port, found.http.port, found.drain) == (8443, 8080, timedelta(seconds=5))
    namespace = found.certificate.where(account)
    assert found.certificate.made_out_to(namespace) == ("heartbeat-tuner-webhook.tuner.svc", "127.0.0.1")
    path.write_text("certificate: {namespace: here}")
    assert webhook_settings.load(path).certificate.where(account) == "here"


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("admission: {port: 0}", "admission.port"),
        ("drain: 2m", "drain"),
        ("certificate: {names: ['*']}", "certificate.names.0"),
        ("prometheus: {}", "prometheus"),
        ("installation: heartbeat-tuner", "installation"),
        ("configuration_name: other", "configuration_name: there is no such field; did you mean configurationName"),
    ],
)
def test_what_the_webhook_cannot_use_is_refused_by_field(tmp_path: Path, text: str, field: str) -> None:
    """As the operator does."""
    path = tmp_path / "webhook.yaml"
    path.write_text(text)
    with pytest.raises(InvalidSettingsError, match=field):
        webhook_settings.load(path)


def test_outside_a_pod_the_webhook_s_secret_needs_a_namespace(tmp_path: Path) -> None:
    """It says which field gives it."""
    with pytest.raises(InvalidSettingsError, match=r"certificate\.namespace is not set"):
        webhook_settings.CertificateSettings().where(tmp_path / "nothing")
