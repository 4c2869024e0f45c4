"""The demo: a KafkaJS rebalance storm is seen, explained and cured, on real parts.

`python -m sandbox.demo` (that is `make demo`). `measuring` reads what the coordinator saw, `story` runs the phases,
`telling` prints them and writes `build/demo.json`, `pages` the page of it all.
"""
