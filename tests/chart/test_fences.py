"""templates/fences and the NetworkPolicies: on by default, about our own alone, and what values change of them."""

from typing import Any, Final

from heartbeat_tuner.api import applied, slot_names
from heartbeat_tuner.api.v1alpha1 import fields
from heartbeat_tuner.api.v1alpha1.changes_v1alpha1 import MOST_WORKLOADS
from tests.chart import documented
from tests.chart.rendering import NAME, VARIANTS, Helm, Rendered

_FENCES: Final = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
_OPERATORS: Final = [f"{NAME}-{item}.{NAME}" for item in ("authors", "workloads", "others")]
_WEBHOOKS: Final = [f"{NAME}-webhook-{item}.{NAME}" for item in ("leases", "pods", "others")]


def fences(rendered: Rendered) -> list[Any]:
    """Return the policies."""
    return [item for item in rendered.objects if item["kind"] == _FENCES[0]]


def test_they_are_on_and_each_is_bound(minimal: Rendered, full: Rendered) -> None:
    """In all shapes; those of the webhook where there is one."""
    assert minimal.names(_FENCES[0]) == _OPERATORS
    assert sorted(full.names(_FENCES[0])) == sorted([*_OPERATORS, *_WEBHOOKS])
    for kind in _FENCES:
        assert full.names(kind) == full.names(_FENCES[0])
    for item in full.objects:
        if item["kind"] == _FENCES[1]:
            spec = item["spec"]
            assert (spec["policyName"], spec["validationActions"]) == (item["metadata"]["name"], ["Deny"])


def test_a_failure_of_a_fence_is_a_refusal_and_about_our_own_accounts_alone(full: Rendered) -> None:
    """Others' requests are not evaluated: only the authors' fence is about anybody, and about policies alone."""
    for fence in fences(full):
        spec = fence["spec"]
        assert spec["failurePolicy"] == "Fail"
        condition = spec["matchConditions"][0]
        groups = {group for rule in spec["matchConstraints"]["resourceRules"] for group in rule["apiGroups"]}
        if groups == {fields.GROUP}:
            continue
        component = fence["metadata"]["labels"]["app.kubernetes.io/component"]
        account = NAME if component == "operator" else f"{NAME}-webhook"
        assert condition["expression"] == f"request.userInfo.username == 'system:serviceaccount:{NAME}:{account}'"
        assert full.one("ServiceAccount", account)["metadata"]["namespace"] == NAME


def test_accounts_of_another_release_are_others(helm: Helm) -> None:
    """Names and accounts follow release and namespace, so that two releases stand side by side."""
    values = {"webhook": {"enabled": True}}
    rendered = helm.render(VARIANTS["minimal"], values, release="tuner", namespace="kafka")
    accounts = {
        fence["spec"]["matchConditions"][0]["expression"].rpartition(" ")[2]
        for fence in fences(rendered)
        if not fence["metadata"]["name"].startswith("tuner-heartbeat-tuner-authors.")
    }
    assert accounts == {
        f"'system:serviceaccount:kafka:{item}'" for item in ("tuner-heartbeat-tuner", "tuner-heartbeat-tuner-webhook")
    }
    assert {fence["metadata"]["name"].rpartition(".")[2] for fence in fences(rendered)} == {"kafka"}


def test_marks_are_those_of_the_code(full: Rendered) -> None:
    """What the expressions name is what the programs write."""
    texts = {fence["metadata"]["name"]: str(fence["spec"]) for fence in fences(full)}
    workloads, leases, pods = (
        texts[f"{NAME}{item}.{NAME}"] for item in ("-workloads", "-webhook-leases", "-webhook-pods")
    )
    prefix = f"{fields.GROUP}/"
    assert applied.ANNOTATION.startswith(prefix)
    assert f"startsWith('{prefix}')" in workloads
    for mark in (slot_names.SLOT_LABEL, slot_names.TOKEN_ANNOTATION, slot_names.GATE):
        assert f"'{mark}'" in pods
    assert f"-[0-9a-f]{{{slot_names.UID_DIGITS}}}-[0-9]{{1,{slot_names.NUMBER_DIGITS}}}$" in leases


def test_the_authors_fence_looks_at_as_many_workloads_as_a_policy_may_name(minimal: Rendered) -> None:
    """One beyond them would be written by the operator though its author may not."""
    (authors,) = [fence for fence in fences(minimal) if fence["metadata"]["name"] == f"{NAME}-authors.{NAME}"]
    texts = [validation["expression"].split("||")[0].strip() for validation in authors["spec"]["validations"]]
    assert texts == [f"variables.workloads.size() <= {place}" for place in range(MOST_WORKLOADS)]


def test_rights_on_rollouts_come_with_the_value_alone(helm: Helm, minimal: Rendered) -> None:
    """Operator and webhook get them, and the API server asks about such pods; else nothing names Argo's group."""
    values = {"webhook": {"enabled": True}, "operator": {"argoRollouts": True}}
    rendered = helm.render(VARIANTS["minimal"], values)
    rules = {
        name: [rule["verbs"] for rule in rendered.one("ClusterRole", name)["rules"] if "rollouts" in rule["resources"]]
        for name in (NAME, f"{NAME}-webhook")
    }
    assert rules == {NAME: [["get", "list", "watch", "patch"]], f"{NAME}-webhook": [["get"]]}
    hooks = rendered.one("MutatingWebhookConfiguration")["webhooks"]
    assert "rollouts-pod-template-hash" in str(hooks)
    assert "rollouts" not in str([item for item in minimal.objects if "Role" in item["kind"]])


def test_some_namespaces_only_fence_the_authors_there(variants: dict[str, Rendered]) -> None:
    """Elsewhere another release may look after policies, by its own rules; the accounts are fenced everywhere."""
    some = variants["namespaced"]
    for item in some.objects:
        if item["kind"] == _FENCES[1]:
            where = item["spec"].get("matchResources")
            if item["metadata"]["name"] == f"{NAME}-authors.{NAME}":
                (term,) = where["namespaceSelector"]["matchExpressions"]
                assert (term["operator"], term["values"]) == ("In", ["shop", "billing"])
            else:
                assert where is None


def test_they_can_be_switched_off(helm: Helm) -> None:
    """All of them."""
    rendered = helm.render(VARIANTS["full"], {"fences": {"enabled": False}, "networkPolicy": {"enabled": False}})
    assert not {*_FENCES, "NetworkPolicy"} & rendered.kinds()


def test_the_pods_are_reached_at_their_ports_alone(minimal: Rendered, full: Rendered) -> None:
    """Admission by everybody, metrics by Prometheus; what the pods reach themselves is not touched."""
    assert minimal.names("NetworkPolicy") == [NAME]
    for name, ports in ((NAME, [["http"]]), (f"{NAME}-webhook", [["admission"], ["http"]])):
        spec = full.one("NetworkPolicy", name)["spec"]
        template = full.pod("Deployment", name)
        assert documented.selects(spec["podSelector"]["matchLabels"], template)
        assert spec["policyTypes"] == ["Ingress"]
        assert [[port["port"] for port in rule["ports"]] for rule in spec["ingress"]] == ports
        (container,) = template["spec"]["containers"]
        assert {port for rule in ports for port in rule} <= {port["name"] for port in container["ports"]}
        (peer,) = spec["ingress"][-1]["from"]
        assert peer["podSelector"]["matchLabels"] == {"app.kubernetes.io/name": "prometheus"}
    assert "from" not in full.one("NetworkPolicy", f"{NAME}-webhook")["spec"]["ingress"][0]


def test_who_reaches_them_can_be_said(helm: Helm) -> None:
    """Nobody reads metrics where nobody is named."""
    servers = [{"ipBlock": {"cidr": "10.0.0.10/32"}}]
    values = {"webhook": {"enabled": True}, "networkPolicy": {"metricsFrom": [], "admissionFrom": servers}}
    rendered = helm.render(VARIANTS["minimal"], values)
    assert not rendered.one("NetworkPolicy")["spec"]["ingress"]
    (rule,) = rendered.one("NetworkPolicy", f"{NAME}-webhook")["spec"]["ingress"]
    assert rule["from"] == servers
