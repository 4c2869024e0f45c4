"""What holds for all tests: a property is judged by its examples, not by how long a busy machine takes to draw them."""

from hypothesis import HealthCheck, settings

settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("thorough", settings.get_profile("patient"), max_examples=3_000)
settings.load_profile("patient")

pytest_plugins = ["tests.support.rows"]
