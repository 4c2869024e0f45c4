"""templates/fitting: off unless asked for; then what fit.yaml has."""

from pathlib import Path
from typing import Any

import pytest

from heartbeat_tuner.cli import fit
from tests.chart import documented
from tests.chart.rendering import NAME, VARIANTS, Helm, RefusedError, Rendered

_NAME = f"{NAME}-fit"
_SECRETS = "/etc/heartbeat-tuner-secrets"
_ON = {"fitting": {"enabled": True, "image": {"repository": "registry.example/fitting"}}}


def given(rendered: Rendered, folder: Path, name: str = _NAME) -> dict[str, Any]:
    """Return what the command understands of the job's arguments, beside the files that the pod would have."""
    for path in rendered.files("CronJob", name):
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("secret")
    (container,) = rendered.pod("CronJob", name)["spec"]["containers"]
    command, *arguments = container["args"]
    assert command == "fit"
    here = [argument.replace(_SECRETS, str(folder)) for argument in arguments]
    return fit.command.make_context("fit", here).params


def test_it_is_off_unless_asked_for(minimal: Rendered) -> None:
    """No job, and no claim that would wait for a volume."""
    assert not minimal.kinds() & {"CronJob", "PersistentVolumeClaim"}
    assert not [item for item in minimal.objects if item["metadata"]["name"].endswith("-fit")]


def test_it_runs_as_the_documented_job_does(helm: Helm, tmp_path: Path) -> None:
    """Schedule, patience, security, resources, volumes, and to the command the same question."""
    rendered, by_hand = helm.render(VARIANTS["minimal"], _ON), documented.manifest(documented.FIT)
    found, wanted = (item.one("CronJob", _NAME)["spec"] for item in (rendered, by_hand))
    assert given(rendered, tmp_path) == given(by_hand, tmp_path)
    pods = [documented.substance(item.pod("CronJob", _NAME)) for item in (rendered, by_hand)]
    for pod in pods:
        del pod["container"]["args"]
    assert pods[0] == pods[1]
    for spec in (found, wanted):
        del spec["jobTemplate"]["spec"]["template"]
        spec["jobTemplate"].pop("metadata", None)
    assert found == wanted


def test_its_rights_are_the_documented_ones(full: Rendered) -> None:
    """Models, and nothing else."""
    assert documented.rights(full, _NAME) == documented.rights(documented.manifest(documented.FIT), _NAME)
    documented.bound(full, _NAME, NAME)


def test_prometheus_is_configured_once(full: Rendered, lake: Rendered, tmp_path: Path) -> None:
    """What reaches the operator's configuration reaches the job's arguments."""
    found = given(full, tmp_path)
    assert found["url"] == "https://mimir.monitoring:8443/prometheus"
    assert found["headers"] == ("X-Scope-OrgID: team-a",)
    assert (found["username"], found["password_file"]) == ("heartbeat-tuner", tmp_path / "prometheus/password")
    assert found["ca_file"] == tmp_path / "prometheus/ca.crt"
    assert found["timeout"] == "20s"
    assert given(lake, tmp_path, "tuner-fit")["bearer_token_file"] == tmp_path / "prometheus/token"


def test_its_own_values_reach_the_job(full: Rendered, tmp_path: Path) -> None:
    """Groups, cluster and the pod."""
    found = given(full, tmp_path)
    assert (found["namespaces"], found["cluster"]) == (("shop", "billing"), "main")
    assert found["since"].days == 14
    pod = full.pod("CronJob", _NAME)
    assert pod["metadata"]["labels"]["team"] == "streams"
    assert pod["spec"]["priorityClassName"] == "system-cluster-critical"
    annotations = full.one("ServiceAccount", _NAME)["metadata"]["annotations"]
    assert annotations == {"eks.amazonaws.com/role-arn": "arn:aws:iam::1:role/history"}


def test_it_has_no_secret_of_kafka(full: Rendered) -> None:
    """It asks no broker."""
    assert {path.split("/")[0] for path in full.files("CronJob", _NAME)} == {"prometheus"}


def test_the_history_has_a_volume_that_stays(full: Rendered) -> None:
    """Prometheus may have forgotten the days on it."""
    claim = full.one("PersistentVolumeClaim", f"{NAME}-history")
    assert claim["metadata"]["annotations"] == {"helm.sh/resource-policy": "keep"}
    assert claim["spec"]["storageClassName"] == "fast"
    assert claim["spec"]["resources"]["requests"]["storage"] == "5Gi"


def test_the_volume_goes_where_that_is_wanted(helm: Helm) -> None:
    """Then nothing keeps it; the cluster's default StorageClass is taken."""
    rendered = helm.render(VARIANTS["minimal"], _ON, {"fitting": {"history": {"keep": False}}})
    claim = rendered.one("PersistentVolumeClaim", f"{NAME}-history")
    assert "annotations" not in claim["metadata"]
    assert "storageClassName" not in claim["spec"]


def test_a_claim_that_is_there_is_taken(helm: Helm) -> None:
    """And none is made."""
    rendered = helm.render(VARIANTS["minimal"], _ON, {"fitting": {"history": {"existingClaim": "days"}}})
    assert "PersistentVolumeClaim" not in rendered.kinds()
    volumes = {volume["name"]: volume for volume in rendered.pod("CronJob", _NAME)["spec"]["volumes"]}
    assert volumes["history"]["persistentVolumeClaim"] == {"claimName": "days"}


def test_a_bucket_needs_no_volume(lake: Rendered, tmp_path: Path) -> None:
    """The job has its scratch space only."""
    assert "PersistentVolumeClaim" not in lake.kinds()
    assert given(lake, tmp_path, "tuner-fit")["history"] == "s3://models/history"
    pod = lake.pod("CronJob", "tuner-fit")["spec"]
    assert {volume["name"] for volume in pod["volumes"]} == {"scratch", "secrets"}
    assert {volume_mount["name"] for volume_mount in pod["containers"][0]["volumeMounts"]} == {"scratch", "secrets"}


@pytest.mark.parametrize(
    ("tls", "sentence"),
    [
        (
            {"cert": {"secret": "a", "key": "c"}, "key": {"secret": "a", "key": "k"}},
            "prometheus.tls.cert is set, and the fit can show no certificate",
        ),
        ({"serverName": "prometheus.internal"}, "prometheus.tls.serverName is set, and the fit knows"),
    ],
)
def test_what_the_fit_cannot_do_is_refused(helm: Helm, tls: dict[str, Any], sentence: str) -> None:
    """Rather than a job that fails every night."""
    access = {"prometheus": {"url": "https://prometheus:9090", "tls": tls}}
    with pytest.raises(RefusedError, match=sentence):
        helm.render(VARIANTS["minimal"], _ON, access)


def test_its_image_is_named(helm: Helm) -> None:
    """There is none to fall back to: the operator's has no Spark."""
    with pytest.raises(RefusedError, match=r"fitting\.image\.repository is not set"):
        helm.render(VARIANTS["minimal"], {"fitting": {"enabled": True}})
