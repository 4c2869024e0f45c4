"""heartbeat-tuner: Kafka consumer liveness settings, computed from measured delays and applied safely.

Layers, each importing only those after it: `__main__` and `cli` | `handlers` (the only kopf code) | `bootstrap` |
`adapters`, `reconcile` and `settings` | `ports` | `decision` and `api` | `metrics` | `clients` | `domain`. One cycle
runs gather -> decide -> apply: reading and writing stand at the ends (`adapters`, called through `ports`), the middle
(`decision`) is a function of values. import-linter holds the order.
"""

__version__ = "0.1.0.dev0"
