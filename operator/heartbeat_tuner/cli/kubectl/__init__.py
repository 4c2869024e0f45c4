"""`kubectl heartbeat-tuner`: what people do with the policies of a cluster, through their own kubectl.

kubectl finds the program `kubectl-heartbeat_tuner` on the PATH. `plugin` has the commands, each with one question to
the cluster and one answer; what they show is made by pure functions beside it. Nothing here writes what only the
operator may write: a person's change goes through the API server with the person's own rights.
"""
