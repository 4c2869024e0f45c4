"""The cycle: gather, decide, apply, report. Asynchronous, through ports, without kopf.

`policy_store` (the watched policies), `gathering` (what one decision rests on, read in batches), `sightings` (member
ids between cycles), `reporting` (from an outcome to a status and its Events), `exposing` (and to what Prometheus is
told), `cycle` (one pass over all policies), `loop` (a pass every interval until told to stop).
"""
