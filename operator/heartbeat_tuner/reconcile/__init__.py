"""The cycle: gather, decide, apply, report. Asynchronous, through ports, without kopf.

`cycle` is one pass over all policies, `loop` a pass every interval. `gather` and `series` read, `status` reports,
`liveness` looks after the process. What is written to workloads belongs here beside `budget` and `releasing`; who
may write at all is decided in `leader_election`.
"""
