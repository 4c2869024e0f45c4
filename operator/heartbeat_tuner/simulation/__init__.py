"""A consumer group played out, event by event: what settings cost where nothing is put into a formula.

`play.simulate` is the way in. A `coordinator` with sessions and a join barrier, or the one of KIP-848, faces `member`s
that beat by a `beats`; `failures` take members away; a `meter` adds up for how long partitions were not read, and
for whose sake. It is the referee of the closed formulas in `decision.cost.cost_model`, and shares no line with them.
"""
