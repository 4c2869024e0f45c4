"""Samples as Prometheus has them: how they are asked for, whose they are, and counters with their resets undone.

From here on nobody knows a metric's name. What samples mean belongs in `metrics` or `metrics.absence`.
"""
