"""May the chosen values be written now? Each gate is a function that returns why not.

A new reason to wait is a gate in `write_gates`. A gate never changes the values.
"""
