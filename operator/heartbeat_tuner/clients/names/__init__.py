"""What the names in people's files mean: which setting a key holds, for which consumer, and who reads it at all.

`key_vocabulary` has the words, `key_words` takes a key apart, `recognition` says what a key means where nothing else is
known. Frameworks have rules of their own: Spring Boot, Kafka Connect, Quarkus and Dapr are in `frameworks`. Pure.
"""
