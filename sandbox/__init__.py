"""The real parts, on one machine.

A small library that the demo, the tests, the laboratory and the benchmarks share: it gets pinned programs into a cache,
starts them on loopback with free ports, waits until they answer, and stops exactly what it started. `python -m sandbox`
is its command line. It is development tooling and no part of the installed distribution.

Rooms: `progress` (what a person sees), `processes` and `commands` (children that end for sure), `cache` (where
programs are kept) and `maven` (jars for it), `prerequisites` and `binaries` (what must be there, what is built); then
one module per part: `control_plane` (with `pki` and `audit`), `node`, `prometheus`, `kafka` (with `request_log`; three
of them are a `kafka_cluster`), `proxy`, `consumers`, `producer`; `environment` puts them together, `scenario` puts
something into them, `demo` tells a story with them.
"""
