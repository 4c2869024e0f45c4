"""What Prometheus may offer, and what it means: pure.

`vocabulary` says what can be measured, `conventions` how exporters call it, `raw` asks for it and sorts what came
back. `record` makes a `Record` of one group, `quantities` all that a model is fitted to; `absence` has the signals
that members were away. `docs/explanation/measuring.md` says what each means.

A new thing that can be measured is a `Quantity` first. What a Prometheus lacks is said in `doctor`, not here.
"""
