"""Files as people write them: env files, manifests and models.

A new kind of file is a module here. It may be anybody's: nothing in it may cost more than its size promises.
"""
