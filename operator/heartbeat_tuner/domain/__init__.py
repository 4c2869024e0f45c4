"""Nouns: frozen values in the terms of Kafka and Kubernetes, standard library only.

`durations` (Go's notation), `liveness` (the settings), `policies` (what a user asks for), `evidence` (what was seen),
`reasons` (the one enum behind every condition) and `verdicts` (what was decided). No module here reads, writes or
waits. A noun belongs here if two other packages need it.
"""
