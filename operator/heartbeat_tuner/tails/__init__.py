"""How long the rare delays are: pure, NumPy only, shared by the operator and the Spark job.

`histogram` is the contract: what is kept of samples, and nothing else is. `history` weighs days of them, `dependence`
tells what values in clusters are worth. `gpd` has the law of a tail, `likelihood` fits it to the histograms of many
groups at once, `fleet` learns what they have in common, `fitness` says whether a law fits, `threshold` and `growth`
where tails begin. `estimate` puts that together: counts in, for each group a `model` or the reason why there is none.

Beside the fits stand `shape_free` bounds, `drift` of new values from a model, and `rates` of rare events, which need
the `gamma` distribution.
"""
