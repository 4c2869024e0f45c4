"""Kafka's admin requests: access, one client for each cluster, and the order of reading; by librdkafka and by `wire`.

A new request to a broker belongs in `kafka_admin`, what its answer means in `kafka_answers`. How often groups are read
is decided in `reconcile.gather`.
"""
