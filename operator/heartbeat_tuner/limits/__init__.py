"""Which values a setting may have at all: the library's card, Kafka's rules and the policy's bounds. Pure.

A limit that holds for any group belongs here. What depends on how a group behaves belongs in `decision`.
"""
