"""Which installation of the operator looks after a namespace, where several could.

`namespace_owners` has the rules as a function of values, `standing_back` reads what they need and reports. What one
installation does with its namespaces belongs elsewhere.
"""
