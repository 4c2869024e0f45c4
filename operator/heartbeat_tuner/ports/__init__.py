"""What the reconciler needs from the outside world, as Protocols; `adapters` are the real ones, tests bring fakes.

Reading methods return values or raise a `TunerError`; a thing that does not exist is None. Writing methods carry the
`uid` and `resourceVersion` of what was gathered, so that a write that rests on a stale view is refused by the API
server. They also need the leadership: a `Fence` says how long it lasts. A module for each outside system, or what of it
is read and written together.
"""
