"""The reporting end: from an outcome to a status, points of metrics, Events and lines of the log.

A new field of the status is filled here, from the outcome alone; nothing here reads from outside.
"""
