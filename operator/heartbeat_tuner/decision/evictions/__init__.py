"""What evictions show: those in the group's own record, and those that a model expects.

A sign that the record is dangerous, or contradicts what is set, belongs in `assessment` or `contradictions`.
"""
