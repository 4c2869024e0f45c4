"""Did a change of values help, or did it harm? Pure; the time is an argument.

Evictions are rare, so two numbers side by side prove nothing. `verify` is asked at every look, and gives one answer:
`fast_paths` know what needs no statistics; then `episodes` are counted on the group's own clock (`exposure`), compared
with two `references` (the record before, and what the model promised), by a test that may be looked at as often as one
likes (`e_process`) and that allows for days which differ (`scatter`); `answers` says it. `fleet` and `canary` ask the
same of all groups together, and of two parts of one group.

`reconcile.following` asks, and gathers what was seen (`eviction_history`, `witnesses`, `rollout_blame`). A new way to
be wrong about a change belongs here; what follows from an answer does not: that is `decision`'s.
"""
