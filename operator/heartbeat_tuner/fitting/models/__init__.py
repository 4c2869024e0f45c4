"""From days of histograms to models, in NumPy and without Spark; `backtest` says whether to trust them.

A new quantity of the model is fitted in `model_estimate`; the law of one tail belongs in `tails.fit`.
"""
