"""How long the rare delays are: pure, NumPy only, shared by the operator and the Spark job.

`histogram` is the contract: what is stored of samples, and nothing else is. `gpd` has the law of a tail, `likelihood`
fits it to the histograms of many groups at once.
"""
