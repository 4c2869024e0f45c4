"""Absences of members: what each signal shows of a pod, block by block, and the largest of them.

A new signal of absence is read in `stalls` or `missing_beats` and joined in `absences`, which never adds them up.
"""
