"""The boundary to Kubernetes objects: what users write, what they read back.

`spec_v1alpha1` (with `naming_v1alpha1` and `rollout_v1alpha1`) and `status_v1alpha1` hold the pydantic models of
`ConsumerGroupPolicy`, `models_v1alpha1` (with `tail_v1alpha1`) those of `ConsumerGroupModel`; `crd` makes the
CustomResourceDefinitions from them, `parsing` a domain `Policy` from an object. The models are the only place where a
field, its default, its bounds and its sentence stand.
"""
