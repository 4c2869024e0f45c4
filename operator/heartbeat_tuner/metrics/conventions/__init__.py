"""The exporters' ways to name things, as data: one module per family, and the catalogue of them all.

A new exporter is a `Convention` in the module of its family; only a new family is also named in `known_conventions`.
"""
