"""The confluent-kafka consumer, a program by itself."""
