"""What `recommend`, `explain` and `simulate` share: options, one group's case, and the links of its explanation.

An option that two of these commands take belongs in `group_options` or `prometheus_options`.
"""
