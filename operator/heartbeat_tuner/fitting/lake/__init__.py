"""How tasks read a lake of Parquet files: its files, what is in them, and values counted where they are read.

A new layout of a lake is read in `lake_files` and `lake_survey`.
"""
