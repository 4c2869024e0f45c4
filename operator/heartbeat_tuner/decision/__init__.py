"""From what is known of a group (`input`) to one `Decision`. Pure; the time is an argument.

`pipeline` is the order of the steps and nothing else. What a step asks stands in a room of its own: `profile` (what
happens to the group), `cost`, `evictions` (what its record and a model show), `optimize` (which values), `gates`
(may they be written now). A new step belongs in `steps` and `pipeline`, a new fact of a group in `input`.
"""
