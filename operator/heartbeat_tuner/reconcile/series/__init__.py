"""The samples of metrics between cycles: what was read, what is to be read, and what is kept of it.

How much is asked of Prometheus, and in which order, is decided here and nowhere else.
"""
