"""From a fitted model to a failure profile: how often members fail and for how long, with the doubts of the data.

A new source of failures is read here. What it costs belongs in `decision.cost`.
"""
