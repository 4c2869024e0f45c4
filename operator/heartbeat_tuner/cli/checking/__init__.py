"""What `check` and `clients` are made of: where settings were found, and how findings and cards are shown.

Nothing here may import what takes long to load: `check` has to answer at once.
"""
