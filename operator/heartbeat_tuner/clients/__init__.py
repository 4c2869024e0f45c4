"""One module per Kafka client library: how it beats, what it is set by, which combinations it accepts.

`catalogue` answers by the name that a policy gives. Facts come from the clients' sources and from measurements on a
real broker; each module names its own.
"""
