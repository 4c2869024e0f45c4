"""Admission: gives new pods a static id, and never keeps one from starting.

`review` reads what the API server asks and writes the answer, `enrolment` says whose pod it is, `injection` what is put
into it; all three are pure. `admission` joins them to the outside world, `server` answers over TLS within a deadline,
`standing` puts a replica together.
"""
