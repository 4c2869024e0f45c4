"""What `fit` is made of: its order, the run, and what is said of it. Only `fit_job` loads Spark.

A new figure of the summary belongs in `fit_summary` or `backtest_output`.
"""
