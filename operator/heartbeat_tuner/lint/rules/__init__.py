"""The rules of `check`, a module for each part of a consumer: each rule stands beside the check that raises it.

A check takes the settings and what is known around them, and yields findings. `linting` runs the checks,
`rule_catalogue` orders the rules. A rule that needs what only a file shows (a misspelt name, a static id) is raised
where files are read, and is documented here all the same.
"""
