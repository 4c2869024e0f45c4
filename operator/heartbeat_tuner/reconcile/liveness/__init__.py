"""Whether the operator's process does its part: probes, pace, memory, and turns on the event loop.

What a probe or the operator's own metrics say of the process belongs here; what they say of a policy does not.
"""
