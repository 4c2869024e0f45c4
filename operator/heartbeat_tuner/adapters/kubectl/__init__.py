"""kubectl itself, as the person who called our plugin runs it: with his kubeconfig, his rights and his way to log in.

What the operator reads and writes goes through `adapters.kubernetes` instead.
"""
