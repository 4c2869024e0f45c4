"""One module per family of Kafka client libraries: how each beats, its settings, which combinations it accepts.

A new library is a card (`client.Client`) in its family's `CLIENTS`, a new family is also named in `catalogue`; policies
accept the library once it is in `metrics.conventions.known_conventions.LIBRARIES`. `catalogue` answers by name. Facts
come from the clients' sources and from measurements on a real broker; each module names its own.
"""
