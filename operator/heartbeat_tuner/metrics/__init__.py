"""What Prometheus may offer, and what it means: pure.

`samples` (raw series and counters), `signals` (metric names as data, and the queries for them), `quantities` (from
samples to the record of one group). Reading is an adapter's work; here samples go in and a `Record`, or an `Unknown`
that names the query, comes out.
"""
