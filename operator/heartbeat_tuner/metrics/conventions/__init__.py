"""The exporters' ways to name things, as data: one module per family, and the catalogue of them all.

A new exporter is an entry in the module of its family, and in `known_conventions`.
"""
