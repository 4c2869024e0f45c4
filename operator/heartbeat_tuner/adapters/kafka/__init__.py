"""Kafka's admin requests through librdkafka: access, one client for each cluster, and the order of reading.

A new request to a broker belongs in `kafka_admin`, what its answer means in `kafka_answers`. How often groups are read
is decided in `reconcile.gather`.
"""
