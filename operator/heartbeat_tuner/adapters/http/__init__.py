"""What a process says of itself over HTTP: probes and metrics.

A new metric of the operator belongs in `telemetry`. The webhook's own stand in `webhook.webhook_telemetry`.
"""
