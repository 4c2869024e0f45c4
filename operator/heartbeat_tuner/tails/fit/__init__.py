"""Fits tails to the histograms of many groups at once; `tail_estimate` puts the steps together.

A step of the fit belongs here. What a fitted tail says of a time stands in `tails.model`.
"""
