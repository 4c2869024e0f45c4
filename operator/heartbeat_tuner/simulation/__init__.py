"""A consumer group played out, event by event: what settings cost where nothing is put into a formula.

`play.simulate` is the way in. A `coordinator` with sessions and a join barrier, or the one of KIP-848, faces `member`s
that beat by a `beats`; `failures` take members away; a `meter` adds up for how long partitions were not read, and for
whose sake. A new cause of failures belongs in `failures`. The simulation checks the closed formulas in
`decision.cost.cost_model`, and shares no code with them.
"""
