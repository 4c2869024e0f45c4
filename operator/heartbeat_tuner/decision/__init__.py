"""Verbs: from one `Situation` to one `Decision`. Pure; the time is an argument.

`decide` is the order of the links and nothing else: `assessment` (what does the record show?), `choice` (which values
would cure it?), `gates` (may they be written now?).
"""
