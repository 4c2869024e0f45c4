"""templates/fitting with `fitting.master` k8s://: executors as pods, made by Spark from what stands here."""

from typing import Any, Final

import pytest
import yaml

from heartbeat_tuner.fitting import session
from tests.chart import documented
from tests.chart.rendering import NAME, VARIANTS, Helm, RefusedError, Rendered

FIT: Final = f"{NAME}-fit"


@pytest.fixture
def executors(variants: dict[str, Rendered]) -> Rendered:
    """The variant with executors."""
    return variants["executors"]


def defaults(rendered: Rendered) -> dict[str, str]:
    """Return Spark's settings."""
    lines = rendered.one("ConfigMap", FIT)["data"]["spark-defaults.conf"].splitlines()
    return dict(line.split(" ", 1) for line in lines if not line.startswith("#"))


def template(rendered: Rendered) -> Any:
    """Return the pod that Spark begins with."""
    return yaml.safe_load(rendered.one("ConfigMap", FIT)["data"]["executor.yaml"])


def test_without_such_a_master_there_is_nothing_of_it(full: Rendered) -> None:
    """No right to a pod, no settings, no ports."""
    assert FIT not in {*full.names("Role"), *full.names("ConfigMap"), *full.names("NetworkPolicy")}
    assert not [name for name in full.names("ValidatingAdmissionPolicy") if name.startswith(FIT)]
    (container,) = full.pod("CronJob", FIT)["spec"]["containers"]
    assert not {"env", "ports"} & set(container)


def test_it_may_touch_pods_of_the_releases_namespace_alone(executors: Rendered) -> None:
    """By a Role; no ConfigMaps, no Services, no Secrets, no logs, no `exec`."""
    role = executors.one("Role", FIT)
    assert role["metadata"]["namespace"] == NAME
    assert [(rule["apiGroups"], rule["resources"]) for rule in role["rules"]] == [([""], ["pods"])]
    assert executors.one("ClusterRole", FIT)["rules"][0]["resources"] == ["consumergroupmodels"]
    documented.bound(executors, FIT, NAME)


def test_executors_are_as_restricted_as_the_fit(executors: Rendered) -> None:
    """The same security, placement and files; no token for the API server."""
    ours, theirs = executors.pod("CronJob", FIT)["spec"], template(executors)["spec"]
    (mine,), (container,) = ours["containers"], theirs["containers"]
    for name in ("securityContext", "serviceAccountName", "tolerations"):
        assert theirs[name] == ours[name]
    assert theirs["automountServiceAccountToken"] is False
    assert container["securityContext"] == mine["securityContext"]
    secrets = [[volume for volume in spec["volumes"] if volume["name"] == "secrets"] for spec in (ours, theirs)]
    assert secrets[0] == secrets[1]
    assert template(executors)["metadata"]["labels"]["team"] == "streams"


def test_spark_is_told_what_the_values_say(executors: Rendered) -> None:
    """How many, how large, from which image."""
    configured = defaults(executors)
    assert configured["spark.executor.instances"] == "4"
    assert configured["spark.executor.cores"] == "2"
    assert configured["spark.kubernetes.executor.request.cores"] == "500m"
    assert (configured["spark.executor.memory"], configured["spark.executor.memoryOverhead"]) == ("2g", "2g")
    (container,) = executors.pod("CronJob", FIT)["spec"]["containers"]
    assert configured["spark.kubernetes.container.image"] == container["image"]
    assert configured["spark.kubernetes.namespace"] == NAME
    (master,) = [word for word in container["args"] if word.startswith("--master=")]
    session.check(master.removeprefix("--master="))


def test_driver_and_executors_know_each_other_by_a_secret_that_stands_nowhere(executors: Rendered) -> None:
    """It is a file in both; the text is in the user's Secret alone."""
    configured = defaults(executors)
    assert (configured["spark.authenticate"], configured["spark.network.crypto.enabled"]) == ("true", "true")
    path = configured["spark.authenticate.secret.file"].removeprefix("/etc/heartbeat-tuner-secrets/")
    assert executors.files("CronJob", FIT)[path] == ("secret", "heartbeat-tuner-spark", "secret")
    assert "Secret" not in executors.kinds()
    assert {"name": "JDK_JAVA_OPTIONS", "value": "-Dspark.master=k8s://"} in template(executors)["spec"]["containers"][
        0
    ]["env"]


def test_nobody_else_reaches_their_ports(executors: Rendered) -> None:
    """The ports that Spark is told, from each other only."""
    configured, driver = defaults(executors), executors.one("NetworkPolicy", FIT)["spec"]
    others = executors.one("NetworkPolicy", f"{FIT}-executor")["spec"]
    assert documented.selects(driver["podSelector"]["matchLabels"], executors.pod("CronJob", FIT))
    assert documented.selects(others["podSelector"]["matchLabels"], template(executors))
    assert not documented.selects(driver["podSelector"]["matchLabels"], template(executors))
    ports = [[str(port["port"]) for port in rule["ports"]] for spec in (driver, others) for rule in spec["ingress"]]
    assert ports == [
        [configured["spark.driver.port"], configured["spark.driver.blockManager.port"]],
        [configured["spark.blockManager.port"]],
    ]
    for spec in (driver, others):
        for rule in spec["ingress"]:
            assert all(set(peer) == {"podSelector"} for peer in rule["from"])


def test_a_master_without_a_secret_is_refused(helm: Helm) -> None:
    """With what to do."""
    fitting = {"enabled": True, "image": {"repository": "r"}, "master": "k8s://https://kubernetes.default.svc"}
    with pytest.raises(RefusedError, match=r"fitting\.spark\.authSecret is not set, .*create a Secret"):
        helm.render(VARIANTS["minimal"], {"fitting": fitting})
