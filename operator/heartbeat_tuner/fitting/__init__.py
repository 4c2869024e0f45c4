"""From weeks of history to models: the only code that knows Spark.

`source` reads Prometheus in parallel (`prometheus`), `lake.observations` a lake of values; both end in the histogram
contract of `tails`. `history` keeps a file of it for each day, `models` fits all groups, and `job` is the whole run.
A new source of values ends in rows of `contract`.
"""
