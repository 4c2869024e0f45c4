"""What settings cost a group: stalled partition-seconds a day, for many sessions at once.

A cause of stalls is a term in `cost_terms`, and `cost_model` adds the terms up. Nothing here chooses a value.
"""
