"""The operator as it is shipped, over simulated time, on groups whose truth is known: a part of `bench.quality`.

`lives` says what a group lives through. `drawing` draws what happens in each of its `hours` and what metrics show, of
missing beats as `raw_beats` measures them; `rows` makes the fit's table. `held_group` is one group in the operator's
hands with its `surroundings`, `running` a fleet of them over days. `judgement` asks the truth, `judged_figures` makes
figures of it, and `worst_groups` tells why the worst ones are where they are. `adverse` has the worlds that our
formulas did not make.
"""
