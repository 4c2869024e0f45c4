"""How long the rare delays are: statistics alone, pure, NumPy only, shared by the operator and the Spark job.

`histogram` is the contract: what is kept of samples, and nothing else is. `fit` makes a `model` of many histograms;
`law`, `gpd` and `gamma` are distributions, `pool` and `shape_free` bounds, `rates` and `count_bounds` counts of rare
events. `drift` compares new values with a model, `regime` new days with all before. What a model is used for belongs in
`models` or `decision`.
"""
