"""The rules of `heartbeat-tuner check`: settings that cannot work, or work otherwise than they look.

A rule needs no metrics and no cluster: its entry stands in `rule_catalogue`, its check in `linting`, and what to
set instead in `suggestions`. Nothing here imports NumPy or pydantic, since `check` has to answer at once.
"""
