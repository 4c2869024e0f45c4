"""The boundary to Kubernetes objects: what users write, what they read back.

`v1alpha1` (pydantic models of `ConsumerGroupPolicy`), `crd` (the CustomResourceDefinition made from them), `parsing`
(from an object to a domain `Policy`). The models are the only place where a field, its default, its bounds and its
sentence stand.
"""
