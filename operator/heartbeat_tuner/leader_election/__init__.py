"""Which replica may write: the lease, the shards and their fences. Asynchronous, through ports.

`leadership` has the rules as functions of values, `elector` runs them. What is done while leading belongs in
`reconcile`.
"""
