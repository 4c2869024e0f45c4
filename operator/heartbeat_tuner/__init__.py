"""heartbeat-tuner: Kafka consumer liveness settings, computed from measured delays and applied safely.

`docs/explanation/architecture.md` lists the layers; each imports only those below it, and import-linter checks that.
One cycle runs gather -> decide -> apply: reading and writing stand at the ends (`adapters`, called through `ports`),
the middle (`decision`) is a function of values.
"""

__version__ = "0.2.0.dev0"
