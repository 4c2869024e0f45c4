"""Canaries: new values in a part of a workload's pods, before its template gets them.

`canary_steps` says what comes next, by what `canary_counting` counts of what `canary_looks` sees: all three are pure.
`canary_runs` notes and evicts, `failure_notes` writes what failed to the workload. The webhook gives the values to new
pods, a ticket each.
"""
