"""Kafka's own protocol, for the few requests that librdkafka's admin client does not have.

`wire_format` knows the primitive types and `wire_messages` the requests; `broker_connection` sends them, through TLS
and SASL (`sasl_login`). `coordinator_requests` asks the coordinators of groups. What a broker answers is input: each
size and each count is bounded before anything of it is read.
"""
