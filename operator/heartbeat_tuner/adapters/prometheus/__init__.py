"""Prometheus' query API: one request, its answer, and what can go wrong with it.

A new kind of answer or failure is read here. Which queries are asked is decided in `reconcile.series`.
"""
