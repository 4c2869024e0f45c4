"""Which values a group should have: the search over the cost, the remedy for a dangerous record, and the guard.

`search` compares values by their cost, `remedy` chooses where there is no cost, `improvement`, `guard` and `economics`
say whether the change is worth it. A new condition on the choice belongs in one of them, a condition on the moment in
`decision.gates`.
"""
