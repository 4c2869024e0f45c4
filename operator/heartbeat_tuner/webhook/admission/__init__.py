"""One review: whose pod it is, which slot and which values it gets, and the answer.

`review`, `enrolment` and `injection` are pure; `admission` joins them to the outside world.
"""
