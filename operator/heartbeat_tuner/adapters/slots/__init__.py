"""Slots of static members: Leases and pods, seen through watches.

The rules of slots stand in `membership`; here is only how they are read and written.
"""
