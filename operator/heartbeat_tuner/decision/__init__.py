"""Verbs: from what is known of a group (`input`) to one `Decision`. Pure; the time is an argument.

`pipeline` is the order of the steps and nothing else. They ask `assessment` (what does the record show?), `choice`
(which values would cure it?), `tuning` (which would be better, where it asks for nothing?), `gates` (may they be
written now?).
`rules` says which values may be set at all, whoever chooses; `heartbeat_budget` looks at all groups of a Kafka cluster.
"""
