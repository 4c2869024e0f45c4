"""Which workloads a policy names: the rules that the definition has too, for objects that are older than these."""

from heartbeat_tuner.api.v1alpha1.spec_v1alpha1 import Spec
from heartbeat_tuner.domain.errors import InvalidPolicyError
from heartbeat_tuner.domain.policies import Mode, ObjectKey, StaticMembership, WorkloadRef


def of_spec(spec: Spec, namespace: str) -> tuple[WorkloadRef, ...]:
    """Return the workloads that a policy names, each once.

    Raises:
        InvalidPolicyError: there is none, one is named twice, or the policy asks for what several cannot have.
    """
    if (spec.workload_ref is None) == (spec.workload_refs is None):
        given = "are both set" if spec.workload_ref is not None else "are both missing"
        raise InvalidPolicyError(
            f"spec.workloadRef: it and spec.workloadRefs {given}; name one workload in workloadRef, or several in "
            "workloadRefs"
        )
    refs = [spec.workload_ref] if spec.workload_ref is not None else spec.workload_refs or []
    named = [(ref.kind, ref.name) for ref in refs]
    for number, name in enumerate(named):
        if name in named[:number]:
            raise InvalidPolicyError(
                f"spec.workloadRefs[{number}]: {' '.join(name)} is named before; name each workload once"
            )
    if len(refs) > 1 and spec.static_membership is not StaticMembership.DISABLED:
        raise InvalidPolicyError(
            f"spec.staticMembership: {spec.static_membership} does not fit {len(refs)} workloadRefs; set Disabled, or "
            "give each workload a policy of its own"
        )
    if len(refs) > 1 and spec.mode is Mode.INITIAL:
        raise InvalidPolicyError(
            f"spec.mode: Initial does not fit {len(refs)} workloadRefs; set Recommend or Apply, or give each "
            "workload a policy of its own"
        )
    return tuple(WorkloadRef(ref.kind, ObjectKey(namespace, ref.name), ref.container) for ref in refs)
