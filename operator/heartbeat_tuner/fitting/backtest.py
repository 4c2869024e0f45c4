"""Would the models of then have foreseen what came: fit on the first days, count on the later ones.

A model says how many of the later values lie beyond a time. The times are those that it gives for 1 value in 100, 1,000
and 10,000, and their 95 % upper bounds; as many values as chance allows should lie beyond.
"""
