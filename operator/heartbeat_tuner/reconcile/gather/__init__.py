"""One `DecisionInput` per policy: groups, workloads, models and records, read in batches and kept between cycles.

A new thing that a cycle has to know is read here. How samples of metrics are read stands in `reconcile.series`.
"""
