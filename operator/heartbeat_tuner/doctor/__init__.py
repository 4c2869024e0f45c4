"""What a Prometheus has of consumer groups, what is missing, and how to get it: an inventory in, findings out. Pure.

A new finding belongs in `diagnosis` or `metric_coverage`, the way to repair it in `fixes`. What a metric means stands
in `metrics`.
"""
