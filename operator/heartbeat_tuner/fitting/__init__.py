"""From weeks of history to models: the only code that knows Spark.

`source` reads Prometheus in parallel, `observations` a lake of values (`lake` and `lake_survey`: its files and what is
in them; `lake_reading`, `cells` and `lake_rows`: what a task does with them); both end in the histogram contract of
`tails`. `history` keeps a file of it for each day, `estimate` fits the models from all of them (`series`), `job` is the
whole run, and `backtest` asks whether to trust it.
"""
