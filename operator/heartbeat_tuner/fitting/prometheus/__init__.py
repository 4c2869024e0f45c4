"""How tasks read Prometheus: windows of time, questions in pieces, and samples counted where they are read.

`fitting.source`, the data source of Spark, is made of these.
"""
