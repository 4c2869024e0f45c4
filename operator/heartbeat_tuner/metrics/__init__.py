"""What Prometheus may offer, and what it means: pure.

`vocabulary` says what can be measured, whatever an exporter calls it; `conventions` are the exporters' ways to name it,
as data; `queries` asks for it, and `resolver` sorts what came back: by group, convention and quantity, in seconds.
From there on nobody knows a metric's name: `samples` (raw series and counters), `evictions`, and `record`, which makes
a `Record` of one group, or an `Unknown` that names the query.

`quantities` is the way in to all that can be measured of a group: `blocks` (windowed maxima, ages), `absences` from
what `stalls` and `deficits` show, `rebalances`, and `downtime`; `lives` tells which process of a pod was there when.
`docs/explanation/measuring.md` says what each means.

`diagnosis` says what of this a Prometheus has, asked with the queries of `discovery`, and `fixes` how to get the rest;
`conventions.custom` lays a policy's own names over all of it.
"""
