"""The webhook: gives new pods a static id or values, and never keeps one from starting.

`app` runs a `replica`, `server` answers over TLS within a deadline, `slot_controller` looks after slots between
admissions (`place_tending` at one place), `certificate_keeper` after the certificate. What is decided of one review
belongs in `webhook.admission`.
"""
