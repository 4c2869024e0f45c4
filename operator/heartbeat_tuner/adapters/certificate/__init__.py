"""The webhook's certificate: how it is made, where it is kept, and how the API server comes to trust it.

When it is looked after is decided in `webhook.certificate_keeper`.
"""
