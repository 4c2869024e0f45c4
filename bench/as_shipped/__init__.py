"""The operator as it is shipped, over simulated time, on groups whose truth is known: a part of `bench.quality`.

`lives` says what a group lives through. `hours` draws what happens in each hour and what metrics show of it, of missing
beats as `raw_beats` measures them; `rows` makes the fit's table of that. `held_group` is one group in the operator's
hands, `running` a fleet of them over days. `judgement` asks the truth, `judged_figures` makes figures of it, and
`worst_groups` tells why the worst ones are where they are. `adverse` has the worlds that our formulas did not make.
"""
