"""The group watcher: it keeps what `metrics.group_events` sees in successive descriptions, as numbers of each policy.

It asks nobody: it is shown every description that `reconcile.gather` reads, in a cycle or between two.
"""
