"""The pydantic models of the API's version v1alpha1: the only place where a field, its bounds and its sentence stand.

A new field belongs in the model of its section. How an object becomes a value of `domain` is `api.parsing`'s.
"""
