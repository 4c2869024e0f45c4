"""Deployments, StatefulSets, pods and ConfigMaps: what is held of them, what they say, and how values are written.

A new field of a workload is kept in `trimming` and read in `workload_evidence`. What a manifest means is read in the
pure modules (`manifests`, `container_env`, `rollout_state`, `field_owners`); the others watch and write.
"""
