"""One outside system per room: the real ends of `ports`. Only these modules import the clients of those systems.

`kubernetes`, `workloads`, `slots` and `certificate` speak to the API server, `kafka` and `prometheus` to those, `files`
reads files, `http` serves our own pages. A new outside system is a new room.
"""
