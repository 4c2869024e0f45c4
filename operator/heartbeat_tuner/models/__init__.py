"""The values that stand between parts: what a fit says of a group, and how its members fail. Pure, NumPy only.

`group_model` goes from the fit to the decision, `failure_profile` from the decision to the cost and the simulation.
Only values belong here: statistics stand in `tails`, what is decided with them in `decision`.
"""
