"""Requests to the API server, watches, and the objects that are read and written as a whole.

A new kind of object is a module here. Workloads and slots have rooms of their own.
"""
