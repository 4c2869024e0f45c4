"""The exporters' ways to name things, as data: one module per family, and the catalogue of them all."""
