"""One outside system per module: the real ends of `ports`.

`prometheus`, `kafka_admin`, `kubernetes_api` (requests), `workloads` and `policies` (what they are used for),
`telemetry` (our own metrics and probes, with `policy_series`). Only these modules import the clients of those systems.
"""
